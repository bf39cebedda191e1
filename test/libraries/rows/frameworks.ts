/** Rows for frameworks with built-in OpenTelemetry. */
import type { Row } from '../row.ts'
import { COST_WITHOUT_CACHE, expected, library } from './expected.ts'

export const frameworkRows: readonly Row[] = [
  library({
    name: 'pydantic-ai',
    library: 'pydantic-ai',
    distribution: 'pydantic-ai-slim',
    program: 'frameworks/pydantic_ai_agent.py',
    expected: expected(
      ['agent answer', '  llm chat gpt-4o-mini', '  llm chat gpt-4o-mini', '  tool get_weather'],
      ['agent answer', '  llm chat fail-429'],
      { userId: null, tags: null }
    )
  }),
  library({
    name: 'logfire',
    library: 'Logfire, with pydantic-ai',
    distribution: 'logfire',
    environment: 'pydantic-ai',
    program: 'frameworks/pydantic_ai_agent.py',
    env: () => ({ WITH_LOGFIRE: 'yes' }),
    expected: expected(
      ['agent answer', '  llm chat gpt-4o-mini', '  llm chat gpt-4o-mini', '  tool get_weather'],
      ['agent answer', '  llm chat fail-429'],
      { userId: null, tags: null }
    )
  }),
  library({
    name: 'agent-framework',
    library: 'Microsoft Agent Framework',
    distribution: 'agent-framework-core',
    program: 'frameworks/agent_framework_agent.py',
    expected: expected(
      ['agent answer', '  llm chat gpt-4o-mini', '  llm chat gpt-4o-mini', '  tool get_weather'],
      ['agent answer', '  llm chat fail-429'],
      { sessionId: null, userId: null, tags: null }
    )
  }),
  library({
    name: 'strands',
    library: 'Strands Agents',
    distribution: 'strands-agents',
    program: 'frameworks/strands_agent.py',
    expected: expected(
      [
        'agent answer',
        '  custom execute_event_loop_cycle',
        '    llm chat',
        '    tool get_weather',
        '  custom execute_event_loop_cycle',
        '    llm chat'
      ],
      ['agent answer', '  custom execute_event_loop_cycle', '    llm chat'],
      // Strands names itself as the provider, and the list of prices has no such provider.
      { model: 'gpt-4o-mini', provider: 'strands-agents', costUsd: null }
    )
  }),
  library({
    name: 'semantic-kernel',
    library: 'Semantic Kernel',
    distribution: 'semantic-kernel',
    program: 'frameworks/semantic_kernel_agent.py',
    env: () => ({ SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS_SENSITIVE: 'true' }),
    expected: expected(
      [
        'custom answer',
        '  agent answer',
        '    custom AutoFunctionInvocationLoop',
        '      llm chat gpt-4o-mini',
        '      llm chat gpt-4o-mini',
        '      tool Weather-get_weather'
      ],
      ['custom failing', '  agent answer', '    custom AutoFunctionInvocationLoop', '      llm chat fail-429'],
      { model: 'gpt-4o-mini', tags: null, costUsd: COST_WITHOUT_CACHE }
    )
  })
]
