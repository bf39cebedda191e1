export async function start() {
  const { Spoor } = await import('spoor-client')
  const spoor = new Spoor({ spool: false })
  return {
    observe: (name, run) => spoor.observe(run, { name, kind: name === 'agent' ? 'agent' : 'llm' }),
    flush: () => spoor.flush({ timeoutMs: 60_000 })
  }
}
