/** `spoor-client/anthropic`: records messages of Anthropic's client as steps. */
import type { Spoor } from '../spoor.ts'
import { type CallBody, type CallMethod, settingsOf, watchClient, watchDerived } from './model-call.ts'
import { collectAnthropic, readAnthropic } from './wires/anthropic.ts'

/** Records this client's calls and returns the client. The client works as before, including streams and helpers. */
export function wrapAnthropic<C extends object>(client: C, spoor: Spoor): C {
  const { messages, beta } = Object(client) as CallBody
  watchDerived(client, 'withOptions', derived => wrapAnthropic(derived, spoor))
  return watchClient('wrapAnthropic', client, spoor, [
    [messages, 'create', MESSAGES],
    [beta?.messages, 'create', MESSAGES]
  ])
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
