/** Runs a row's program with spoor, and reads the stored traces. */
import type { Detail } from './check.ts'
import { makeEnvironment, runProgram } from './python.ts'
import type { Addresses, Row } from './row.ts'
import type { Spoor } from './spoor.ts'

/** Runs a row's program, and returns the details of all traces that it has sent. */
export async function send(row: Row, spoor: Spoor, modelUrl: string): Promise<Detail[]> {
  const python = makeEnvironment(row.environment)
  const key = await spoor.makeKey(row.name)
  const { url, grpcUrl } = spoor
  const to: Addresses = { url, grpcUrl, key, modelUrl }
  const { code, output } = await runProgram(python, row.program, { ...environmentOf(to), ...row.env?.(to) })
  if (code !== 0) throw new Error(`the program ended with ${code}:\n${output.slice(-2_000)}`)
  return readTraces(url, key)
}

/** Returns the environment variables that the guide names for every library, and the model provider's addresses. */
export const environmentOf = ({ url, key, modelUrl }: Addresses) => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: `${url}/api/v1/otlp`,
  OTEL_EXPORTER_OTLP_HEADERS: `Authorization=Bearer%20${key}`,
  OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
  OPENAI_BASE_URL: `${modelUrl}/v1`,
  OPENAI_API_BASE: `${modelUrl}/v1`,
  OPENAI_API_KEY: 'none',
  ANTHROPIC_BASE_URL: modelUrl,
  ANTHROPIC_API_KEY: 'none',
  // The following variables keep libraries from contacting any other server.
  LITELLM_LOCAL_MODEL_COST_MAP: 'True',
  CREWAI_DISABLE_TELEMETRY: 'true',
  CREWAI_TRACING_ENABLED: 'false',
  HAYSTACK_TELEMETRY_ENABLED: 'False',
  MLFLOW_DISABLE_TELEMETRY: 'true',
  DO_NOT_TRACK: '1'
})

async function read(url: string, key: string, path: string): Promise<Detail> {
  const response = await fetch(url + path, { headers: { authorization: `Bearer ${key}` } })
  if (response.status !== 200) throw new Error(`${path} is answered ${response.status}: ${await response.text()}`)
  return (await response.json()) as Detail
}

export async function readTraces(url: string, key: string): Promise<Detail[]> {
  const traces = await readAllTraces(url, key)
  return Promise.all(traces.map(({ id }) => read(url, key, `/api/v1/traces/${id}`)))
}

/** Returns the summaries of all traces of a project. */
export async function readAllTraces(url: string, key: string): Promise<Detail[]> {
  const all: Detail[] = []
  let after: string | null = null
  do {
    const query: string = after === null ? '' : `&after=${encodeURIComponent(after)}`
    const page = await read(url, key, `/api/v1/traces?limit=100${query}`)
    all.push(...page.traces)
    after = page.nextCursor
  } while (after !== null)
  return all
}
