/** `spoor-client/anthropic`: records messages of Anthropic's client as steps. */
import type { Spoor } from '../spoor.ts'
import { type CallBody, type CallMethod, settingsOf, watchCalls, watchDerived } from './model-call.ts'
import { collectAnthropic, readAnthropic } from './wires/anthropic.ts'

/** Records this client's calls and returns the client. The client works as before, including streams and helpers. */
export function wrapAnthropic<C extends object>(client: C, spoor: Spoor): C {
  const { messages, beta } = client as CallBody
  watchCalls(messages, 'create', spoor, MESSAGES)
  watchCalls(beta?.messages, 'create', spoor, MESSAGES)
  watchDerived(client, 'withOptions', derived => wrapAnthropic(derived, spoor))
  return client
}

const MESSAGES: CallMethod = {
  name: 'anthropic.messages',
  describe(request) {
    const { model, system, messages } = request
    return {
      kind: 'llm',
      provider: 'anthropic',
      model,
      input: system === undefined ? messages : [{ role: 'system', content: system }, ...messages],
      attributes: settingsOf(request, ['model', 'system', 'messages', 'stream'])
    }
  },
  read: readAnthropic,
  collect: collectAnthropic
}
