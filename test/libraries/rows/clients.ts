/** Rows for instrumentations of OpenAI's client, and for SDKs that contain such an instrumentation. */
import type { Environment, Expected, Row } from '../row.ts'
import { COST_WITHOUT_CACHE, expected, library } from './expected.ts'

const openAiV2 = (name: string, about: string, env: Environment, more: Partial<Expected>): Row => ({
  name: `openai-v2${name}`,
  library: `OpenTelemetry: OpenAI${about}`,
  distribution: 'opentelemetry-instrumentation-openai-v2',
  environment: 'openai',
  program: 'openai_v2.py',
  env,
  expected: expected(
    ['custom answer', '  llm chat gpt-4o-mini', '  llm chat gpt-4o-mini'],
    ['custom failing', '  llm chat fail-429'],
    { tags: null, costUsd: COST_WITHOUT_CACHE, ...more }
  )
})
const latest = (mode: string) => () => ({
  OTEL_SEMCONV_STABILITY_OPT_IN: 'gen_ai_latest_experimental',
  OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: mode
})
const noContent = { input: null, output: null }

const langfuse = (version: string): Row => ({
  name: `langfuse-${version}`,
  library: `Langfuse ${version}`,
  distribution: 'langfuse',
  environment: `langfuse${version}`,
  program: 'langfuse_sdk.py',
  env: ({ url, key }) => ({
    LANGFUSE_BASE_URL: url,
    LANGFUSE_OTEL_TRACES_EXPORT_PATH: 'api/v1/otlp/v1/traces',
    LANGFUSE_PUBLIC_KEY: 'none',
    LANGFUSE_SECRET_KEY: key
  }),
  expected: expected(
    ['agent answer', '  llm OpenAI-generation', '  llm OpenAI-generation', '  tool get_weather'],
    ['custom refused', '  llm OpenAI-generation'],
    { provider: null }
  )
})

export const clientRows: readonly Row[] = [
  openAiV2('', ', without messages', () => ({ OTEL_LOGS_EXPORTER: 'none' }), noContent),
  openAiV2(
    '-events',
    ', messages in log records',
    () => ({ OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true' }),
    {}
  ),
  openAiV2('-span-only', ', SPAN_ONLY', latest('SPAN_ONLY'), {}),
  openAiV2('-event-only', ', EVENT_ONLY', latest('EVENT_ONLY'), {}),
  openAiV2('-span-and-event', ', SPAN_AND_EVENT', latest('SPAN_AND_EVENT'), {}),
  openAiV2('-no-content', ', NO_CONTENT', latest('NO_CONTENT'), noContent),
  openAiV2(
    '-grpc',
    ', over gRPC',
    ({ grpcUrl }) => ({
      ...latest('SPAN_ONLY')(),
      OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
      OTEL_EXPORTER_OTLP_ENDPOINT: grpcUrl,
      OTEL_LOGS_EXPORTER: 'none'
    }),
    {}
  ),
  langfuse('3'),
  langfuse('4'),
  langfuse('5'),
  library({
    name: 'traceloop',
    library: 'OpenLLMetry',
    distribution: 'traceloop-sdk',
    program: 'traceloop_sdk.py',
    env: ({ url, key }) => ({
      TRACELOOP_BASE_URL: `${url}/api/v1/otlp`,
      TRACELOOP_HEADERS: `Authorization=Bearer%20${key}`
    }),
    expected: expected(
      ['chain answer', '  agent forecaster', '    llm openai.chat', '    llm openai.chat', '    tool get_weather'],
      ['chain failing', '  llm openai.chat'],
      { tags: null }
    )
  }),
  library({
    name: 'litellm',
    library: 'LiteLLM',
    distribution: 'litellm',
    program: 'litellm_otel.py',
    env: () => ({ USE_OTEL_LITELLM_REQUEST_SPAN: 'true' }),
    expected: expected(
      [
        'custom answer',
        '  llm litellm_request',
        '    custom raw_gen_ai_request',
        '  llm litellm_request',
        '    custom raw_gen_ai_request'
      ],
      ['custom failing', '  llm litellm_request'],
      { sessionId: null, tags: null }
    )
  }),
  library({
    name: 'mlflow',
    library: 'MLflow',
    distribution: 'mlflow',
    program: 'mlflow_autolog.py',
    expected: expected(
      ['agent answer', '  llm Completions', '  llm Completions', '  tool get_weather'],
      ['custom refused', '  llm Completions'],
      { provider: null }
    )
  }),
  library({
    name: 'mlflow-gen-ai',
    library: "MLflow, with OpenTelemetry's names",
    distribution: 'mlflow',
    environment: 'mlflow',
    program: 'mlflow_autolog.py',
    env: () => ({ MLFLOW_ENABLE_OTEL_GENAI_SEMCONV: 'true' }),
    expected: expected(
      ['agent answer', '  llm chat gpt-4o-mini-2024-07-18', '  llm chat gpt-4o-mini-2024-07-18', '  tool get_weather'],
      ['custom UNKNOWN', '  llm chat'],
      { provider: null, costUsd: COST_WITHOUT_CACHE }
    )
  }),
  library({
    name: 'openlit',
    library: 'OpenLIT',
    distribution: 'openlit',
    program: 'openlit_sdk.py',
    expected: expected(
      ['custom answer', '  llm chat gpt-4o-mini', '    custom POST', '  llm chat gpt-4o-mini', '    custom POST'],
      ['custom failing', '  llm chat fail-429', '    custom POST'],
      { tags: null, costUsd: COST_WITHOUT_CACHE }
    )
  })
]
