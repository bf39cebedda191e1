/** Rows for OpenInference's instrumentations. */
import type { Expected, Row } from '../row.ts'
import { COST_WITHOUT_CACHE, expected } from './expected.ts'

const openInference = (
  name: string,
  library: string,
  program: string,
  result: Expected,
  environment = 'openinference'
): Row => ({
  name: `openinference-${name}`,
  library: `OpenInference: ${library}`,
  distribution: `openinference-instrumentation-${name}`,
  environment,
  program: `openinference/${program}.py`,
  expected: result
})

export const openInferenceRows: readonly Row[] = [
  openInference(
    'openai',
    "OpenAI's client",
    'openai_client',
    expected(
      ['custom answer', '  llm ChatCompletion', '  llm ChatCompletion'],
      ['custom failing', '  llm ChatCompletion']
    )
  ),
  openInference(
    'langchain',
    'LangChain, LangGraph',
    'langchain_agent',
    expected(
      [
        'chain answer',
        '  chain model',
        '    llm ChatOpenAI',
        '  chain model',
        '    llm ChatOpenAI',
        '  chain tools',
        '    tool get_weather'
      ],
      ['chain answer', '  chain model', '    llm ChatOpenAI']
    )
  ),
  {
    ...openInference(
      'langchain',
      "LangChain, alongside OpenAI's client",
      'langchain_agent',
      expected(
        [
          'custom run',
          '  chain answer',
          '    chain model',
          '      llm ChatOpenAI',
          '    chain model',
          '      llm ChatOpenAI',
          '    chain tools',
          '      tool get_weather',
          '  llm ChatCompletion',
          '  llm ChatCompletion'
        ],
        ['custom run', '  chain answer', '    chain model', '      llm ChatOpenAI', '  llm ChatCompletion']
      )
    ),
    name: 'openinference-both',
    env: () => ({ WITH_OPENAI: 'yes' })
  },
  openInference(
    'anthropic',
    "Anthropic's client",
    'anthropic_client',
    expected(
      [
        'custom answer',
        '  llm messages.create',
        '    llm anthropic.messages.create',
        '  llm messages.create',
        '    llm anthropic.messages.create'
      ],
      ['custom failing', '  llm messages.create', '    llm anthropic.messages.create'],
      { model: 'claude-sonnet-4-5-20250929', provider: 'anthropic', costUsd: 1.092e-3 }
    )
  ),
  openInference(
    'openai-agents',
    "OpenAI's Agents SDK",
    'agents_sdk',
    expected(
      [
        'agent Agent workflow',
        '  chain Agent workflow',
        '    agent answer',
        '      chain turn',
        '        llm response',
        '        tool get_weather',
        '      chain turn',
        '        llm response'
      ],
      ['agent Agent workflow', '  chain Agent workflow', '    agent answer', '      chain turn', '        llm response']
    )
  ),
  // A run's input is the state of its workflow, which does not contain the question.
  openInference(
    'llama-index',
    'LlamaIndex',
    'llama_index_agent',
    expected(
      [
        'custom answer',
        '  chain FunctionAgent.run',
        '    chain BaseWorkflowAgent.aggregate_tool_results',
        '    chain BaseWorkflowAgent.call_tool',
        '      tool get_weather',
        '    chain BaseWorkflowAgent.init_run',
        '    chain BaseWorkflowAgent.parse_agent_output',
        '    chain BaseWorkflowAgent.parse_agent_output',
        '    chain BaseWorkflowAgent.run_agent_step',
        '      llm OpenAI._prepare_chat_with_tools',
        '      llm OpenAI.astream_chat',
        '    chain BaseWorkflowAgent.run_agent_step',
        '      llm OpenAI._prepare_chat_with_tools',
        '      llm OpenAI.astream_chat',
        '    chain BaseWorkflowAgent.setup_agent',
        '    chain BaseWorkflowAgent.setup_agent'
      ],
      [
        'custom failing',
        '  chain FunctionAgent.run',
        '    chain BaseWorkflowAgent.init_run',
        '    chain BaseWorkflowAgent.run_agent_step',
        '      llm OpenAI._prepare_chat_with_tools',
        '      llm OpenAI.astream_chat',
        '    chain BaseWorkflowAgent.setup_agent'
      ],
      { input: 'init_state', model: 'gpt-4o-mini' }
    )
  ),
  openInference(
    'haystack',
    'Haystack',
    'haystack_agent',
    expected(
      [
        'custom answer',
        '  chain Agent.run',
        '    chain ChatPromptBuilder.run',
        '    llm OpenAIChatGenerator.run',
        '    llm OpenAIChatGenerator.run'
      ],
      ['custom failing', '  chain Agent.run', '    chain ChatPromptBuilder.run', '    llm OpenAIChatGenerator.run'],
      { costUsd: COST_WITHOUT_CACHE }
    )
  ),
  openInference(
    'litellm',
    'LiteLLM',
    'litellm_call',
    expected(['custom answer', '  llm completion', '  llm completion'], ['custom failing', '  llm completion'], {
      model: 'openai/gpt-4o-mini'
    }),
    'litellm'
  ),
  openInference(
    'dspy',
    'DSPy',
    'dspy_predict',
    expected(
      [
        'custom answer',
        '  chain Predict.forward',
        '    chain Predict(StringSignature).forward',
        '      chain JSONAdapter.__call__',
        '        llm LM.__call__'
      ],
      [
        'custom failing',
        '  chain Predict.forward',
        '    chain Predict(StringSignature).forward',
        '      chain JSONAdapter.__call__',
        '        llm LM.__call__'
      ],
      // Without tokens there is no cost to compute.
      { output: 'Graz', model: 'gpt-4o-mini', calls: null, costUsd: null }
    ),
    'litellm'
  ),
  openInference(
    'crewai',
    'CrewAI',
    'crewai_crew',
    expected(
      [
        'chain answer.kickoff',
        '  agent Forecaster._execute_core',
        '    llm ChatCompletion',
        '    llm ChatCompletion',
        '    tool get_weather'
      ],
      [
        'chain answer.kickoff',
        '  agent Forecaster._execute_core',
        '    llm ChatCompletion',
        '    llm ChatCompletion',
        '    llm ChatCompletion'
      ]
    ),
    'crewai'
  )
]
