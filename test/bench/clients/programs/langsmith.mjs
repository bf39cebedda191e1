export async function start() {
  const { Client } = await import('langsmith')
  const { traceable } = await import('langsmith/traceable')
  const client = new Client()
  return {
    observe: (name, run) => traceable(run, { name, run_type: name === 'agent' ? 'chain' : 'llm', client }),
    flush: () => client.awaitPendingTraceBatches()
  }
}
