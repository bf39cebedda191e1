export async function start() {
  const { NodeSDK } = await import('@opentelemetry/sdk-node')
  const { LangfuseSpanProcessor } = await import('@langfuse/otel')
  const { observe } = await import('@langfuse/tracing')
  const processor = new LangfuseSpanProcessor()
  new NodeSDK({ spanProcessors: [processor], instrumentations: [] }).start()
  return {
    observe: (name, run) => observe(run, { name, asType: name === 'agent' ? 'agent' : 'generation' }),
    flush: () => processor.forceFlush()
  }
}
