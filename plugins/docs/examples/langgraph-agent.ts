/**
 * A LangGraph agent. OpenInference records the agent's nodes and models and sends
 * them through OpenTelemetry's exporter. The client's steps and scores join that trace.
 * Both must send to one project: OTEL_EXPORTER_OTLP_ENDPOINT and
 * OTEL_EXPORTER_OTLP_HEADERS, SPOOR_URL and SPOOR_API_KEY.
 */
import { LangChainInstrumentation } from '@arizeai/openinference-instrumentation-langchain'
import * as callbackManager from '@langchain/core/callbacks/manager'
import { Annotation, END, START, StateGraph } from '@langchain/langgraph'
import { ChatOpenAI } from '@langchain/openai'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node'
import { Spoor } from 'spoor-client'

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

/** The active span is current in the nodes, so the client's steps join its trace. */
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
// The score is sent later, when somebody has read the answer.
spoor.score(traceId, 'helpful', 0.9, { comment: 'good to know' })

await provider.shutdown()
console.log((await spoor.flush()).lost)
