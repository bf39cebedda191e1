/** Commands that record a project's first trace. Variable names match the README and the guide. */

const SECOND_MS = 1000

export function curlOfFirstTrace(address: string, now: Date): string {
  const before = new Date(now.getTime() - SECOND_MS)
  return `curl ${address}/api/v1/traces \\
  -H "Authorization: Bearer $SPOOR_API_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"schemaVersion": 1, "trace": {
    "id": "'$(openssl rand -hex 16)'", "name": "first trace", "status": "ok",
    "startedAt": "${before.toISOString()}", "endedAt": "${now.toISOString()}",
    "input": "What is the capital of France?", "output": "Paris."}}'`
}

/** Exporters append /v1/traces to the endpoint. */
export function otlpVariables(address: string): string {
  return `export OTEL_EXPORTER_OTLP_ENDPOINT=${address}/api/v1/otlp
export OTEL_EXPORTER_OTLP_HEADERS=Authorization=Bearer%20$SPOOR_API_KEY
export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf`
}
