/**
 * An agent of LangGraph. OpenInference sends what its nodes and models do, by
 * OpenTelemetry's exporter; steps and verdicts of the client become part of that trace.
 * Both send to one project: OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_EXPORTER_OTLP_HEADERS,
 * SPOOR_URL and SPOOR_API_KEY.
 */
import { LangChainInstrumentation } from '@arizeai/openinference-instrumentation-langchain'
import * as callbackManager from '@langchain/core/callbacks/manager'
import { Annotation, END, START, StateGraph } from '@langchain/langgraph'
import { ChatOpenAI } from '@langchain/openai'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node'
import { Spoor } from 'spoor/client'

const processor = new BatchSpanProcessor(new OTLPTraceExporter())
const provider = new NodeTracerProvider({ spanProcessors: [processor] })
provider.register()
new LangChainInstrumentation().manuallyInstrument(callbackManager)
const tracer = provider.getTracer('assistant')
const spoor = new Spoor()
const model = new ChatOpenAI({ model: 'gpt-4o-mini' })

const State = Annotation.Root({
  question: Annotation<string>,
  answer: Annotation<string>
})
const graph = new StateGraph(State)
  .addNode('draft', async ({ question }) => ({
    answer: (await model.invoke(question)).text
  }))
  .addNode('review', ({ answer }) =>
    spoor.trace('review', { input: answer }, step => {
      step.score('short', answer.length < 280, {
        comment: `${answer.length} characters`
      })
      return {}
    })
  )
  .addEdge(START, 'draft')
  .addEdge('draft', 'review')
  .addEdge('review', END)
  .compile({ name: 'assistant' })

/** Its span is the current one in the nodes, which is what the client looks for. */
function ask(question: string) {
  return tracer.startActiveSpan('ask', async span => {
    const { answer } = await graph.invoke({ question })
    span.setAttributes({ 'session.id': 'chat-1042', 'input.value': question })
    span.setAttribute('output.value', answer).end()
    return { answer, traceId: span.spanContext().traceId }
  })
}

const { answer, traceId } = await ask('Is it sunny in Graz?')
console.log(answer)
// Later, when somebody has read it.
spoor.score(traceId, 'helpful', 0.9, { comment: 'good to know' })

await provider.shutdown()
console.log((await spoor.flush()).lost)
