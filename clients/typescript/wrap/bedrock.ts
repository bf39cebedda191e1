/** `spoor-client/bedrock`: records `Converse` and `ConverseStream` of Amazon Bedrock's client as steps. */
import type { Spoor } from '../spoor.ts'
import { type CallBody, type CallMethod, settingsOf, watchClient } from './model-call.ts'
import { collectConverse, readConverse } from './wires/bedrock.ts'

/** Records this client's conversations and returns the client. Other commands are sent as before. */
export function wrapBedrock<C extends object>(client: C, spoor: Spoor): C {
  return watchClient('wrapBedrock', client, spoor, [[client, 'send', CONVERSE]])
}

const CONVERSE: CallMethod = {
  name: 'bedrock.converse',
  applies: command => typeof command?.input?.modelId === 'string' && Array.isArray(command.input.messages),
  describe({ input: request }: CallBody) {
    const { modelId, system, messages } = request
    return {
      kind: 'llm',
      provider: 'aws.bedrock',
      model: modelId,
      input: system === undefined ? messages : [{ role: 'system', content: system }, ...messages],
      attributes: settingsOf(request, ['modelId', 'system', 'messages'])
    }
  },
  read: readConverse,
  collect: collectConverse,
  stream: {
    of: answer => answer?.stream,
    replace: (answer, stream) => ({ ...answer, stream })
  }
}
