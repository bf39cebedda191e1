/** The guide's coding agents, each with a model that calls a shell once and then responds with text. */
import { join } from 'node:path'
import { ANSWER } from '../../provider/facts.ts'
import { QUESTION } from '../../senders/talk.ts'
import { CODING_AGENTS } from '../../torture/coding-agents/coding-agents.ts'
import { sendGoose } from './goose.ts'
import type { AgentExpected, AgentProgram, AgentRow, Given } from './row.ts'

const PLATFORM = `${process.platform}-${process.arch}`
const MODEL_KEY = 'sk-fake'
const RESULT = 'sunny in Graz'
const command = `echo ${RESULT}`
const description = 'Tells the weather'

/** Returns a row for a program that the tests of spoor's MCP endpoint also run. */
function agent(name: string, row: Omit<AgentRow, 'agent' | 'library' | 'version'>, about = ''): AgentRow {
  const { npm, version } = CODING_AGENTS.find(each => each.name === name)!
  return { agent: name, library: name + about, version: `${npm} ${version}`, ...row }
}

const expected = (steps: string[], more: Pick<AgentExpected, 'model'> & Partial<AgentExpected>): AgentExpected => ({
  steps,
  name: null,
  input: QUESTION,
  output: ANSWER,
  calls: 2,
  costUsd: null,
  arguments: command,
  result: RESULT,
  status: 'unset',
  ...more
})

const openAi = ({ provider }: Given) => ({ OPENAI_BASE_URL: `${provider}/v1`, OPENAI_API_KEY: MODEL_KEY })

const codex: AgentProgram = {
  call: { name: 'exec_command', input: { cmd: command } },
  command: ({ modules }) => [
    join(modules, '@openai/codex/bin/codex.js'),
    ...['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', QUESTION]
  ],
  env: () => ({ MODEL_KEY }),
  files: ({ provider }) => ({
    '.codex/config.toml': [
      'model = "gpt-5"',
      'model_provider = "loopback"',
      'check_for_update_on_startup = false',
      '[model_providers.loopback]',
      'name = "loopback"',
      `base_url = "${provider}/v1"`,
      'wire_api = "responses"',
      'env_key = "MODEL_KEY"',
      '[analytics]',
      'enabled = false',
      ''
    ].join('\n')
  })
}

export const agentRows: readonly AgentRow[] = [
  agent('Claude Code', {
    name: 'claude-code',
    sends: {
      call: { name: 'Bash', input: { command, description } },
      command: ({ modules }) => [
        ...(['sh', '-c', CLAUDE_CODE] as const),
        join(modules, `@anthropic-ai/claude-code-${PLATFORM}`, 'claude'),
        JSON.stringify({ type: 'user', message: { role: 'user', content: QUESTION } })
      ],
      env: ({ provider }) => ({ ANTHROPIC_BASE_URL: provider, ANTHROPIC_API_KEY: MODEL_KEY }),
      files: () => ({})
    },
    // Claude Code sends the costs.
    expected: expected(
      [
        'agent claude_code.interaction',
        '  llm claude_code.llm_request',
        '  llm claude_code.llm_request',
        '  tool Bash'
      ],
      { name: 'claude-code', model: 'claude-sonnet-4-5-20250929', costUsd: 0.001092 }
    )
  }),
  agent('Codex', {
    name: 'codex',
    sends: codex,
    // Codex does not send the model's responses.
    expected: expected(
      ['agent session_task.turn', '  llm handle_responses', '  llm handle_responses', '  tool exec_command'],
      { name: 'codex_exec', model: 'gpt-5', output: null, costUsd: 0.000605 }
    )
  }),
  agent(
    'Codex',
    {
      name: 'codex-records',
      // The log records name parent spans that are not sent, so no step is below another step.
      sends: { ...codex, without: /\[otel\.trace_exporter[\s\S]*/ },
      expected: expected(['agent codex_exec', 'llm gpt-5', 'llm gpt-5', 'tool exec_command'], {
        ...{ name: 'codex_exec', model: 'gpt-5', output: null, costUsd: 0.000605 }
      })
    },
    ', without spans'
  ),
  agent('Gemini CLI', {
    name: 'gemini-cli',
    sends: {
      call: { name: 'run_shell_command', input: { command } },
      command: ({ modules }) => [
        join(modules, '@google/gemini-cli/bundle/gemini.js'),
        ...['--prompt', QUESTION, '--model', 'gemini-2.5-pro', '--approval-mode', 'yolo', '--skip-trust']
      ],
      env: ({ provider }) => ({ GOOGLE_GEMINI_BASE_URL: provider, GEMINI_API_KEY: MODEL_KEY }),
      files: () => ({ '.gemini/settings.json': { security: { auth: { selectedType: 'gemini-api-key' } } } })
    },
    // Gemini CLI does not send the results of tools.
    expected: expected(
      ['agent gemini-cli', '  llm gemini-2.5-pro', '  llm gemini-2.5-pro', '  tool run_shell_command'],
      { name: 'gemini-cli', model: 'gemini-2.5-pro', costUsd: 0.000605, result: null }
    )
  }),
  agent('Qwen Code', {
    name: 'qwen-code',
    sends: {
      call: { name: 'run_shell_command', input: { command, is_background: false } },
      command: ({ modules }) => [
        join(modules, '@qwen-code/qwen-code/cli-entry.js'),
        ...['--prompt', QUESTION, '--model', 'qwen3-coder-plus', '--auth-type', 'openai', '--approval-mode', 'yolo']
      ],
      env: openAi,
      files: () => ({})
    },
    // Qwen Code names OpenAI as the provider, for which the price list does not contain this model.
    expected: expected(
      [
        'agent qwen-code',
        '  llm qwen-code.llm_request',
        '  llm qwen-code.llm_request',
        '  tool run_shell_command',
        '    tool run_shell_command'
      ],
      { name: 'qwen-code', model: 'qwen3-coder-plus' }
    )
  }),
  agent('GitHub Copilot CLI', {
    name: 'copilot-cli',
    sends: {
      call: { name: 'bash', input: { command, description } },
      command: ({ modules }) => [
        join(modules, `@github/copilot-${PLATFORM}`, 'copilot'),
        ...['--prompt', QUESTION, '--allow-all-tools', '--no-auto-update', '--disable-builtin-mcps']
      ],
      env: ({ provider }) => ({
        COPILOT_OFFLINE: 'true',
        COPILOT_MODEL: 'gpt-4.1',
        COPILOT_PROVIDER_BASE_URL: `${provider}/v1`,
        COPILOT_PROVIDER_API_KEY: MODEL_KEY
      }),
      files: () => ({})
    },
    // Copilot names GitHub as the provider, for which there are no token prices.
    expected: expected(['agent invoke_agent', '  llm chat gpt-4.1', '  llm chat gpt-4.1', '  tool bash'], {
      name: 'github-copilot',
      model: 'gpt-4.1'
    })
  }),
  agent('OpenCode', {
    name: 'opencode',
    sends: {
      call: { name: 'bash', input: { command, description } },
      command: ({ modules }) => ['sh', '-c', OPENCODE, join(modules, `opencode-${PLATFORM}`, 'bin/opencode'), QUESTION],
      env: () => ({ OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_DISABLE_MODELS_FETCH: '1' }),
      files: ({ provider }) => ({
        '.config/opencode/opencode.json': {
          autoupdate: false,
          share: 'disabled',
          model: 'openai/gpt-4.1',
          small_model: 'openai/gpt-4.1',
          provider: {
            openai: {
              npm: '@ai-sdk/openai-compatible',
              options: { baseURL: `${provider}/v1`, apiKey: MODEL_KEY },
              models: { 'gpt-4.1': { tool_call: true, limit: { context: 1_000_000, output: 8000 } } }
            }
          }
        }
      })
    },
    // A third call gives the session its title. The request's span is sent only when OpenCode's server ends.
    expected: expected(
      [
        'chain ai.streamText',
        '  llm ai.streamText.doStream',
        'chain ai.streamText',
        '  llm ai.streamText.doStream',
        'chain ai.streamText',
        '  llm ai.streamText.doStream',
        '  tool bash'
      ],
      { model: 'gpt-4.1', calls: 3, costUsd: 0.00099, status: null }
    )
  }),
  {
    name: 'goose',
    agent: 'Goose',
    library: 'Goose',
    version: 'a payload built from its documentation, not the program',
    sends: sendGoose,
    expected: expected(
      ['agent goose', '  llm provider_generation', '  llm provider_generation', '  tool developer__shell'],
      {
        name: 'goose',
        model: 'gpt-4.1',
        costUsd: 0.00066
      }
    )
  }
]

/**
 * Keeps Claude Code's input open for a while after the prompt, as a terminal would. When Claude Code ends, it waits
 * only two seconds until its last records are sent, and a busy machine needs longer.
 */
const CLAUDE_CODE = [
  '{ echo "$1"; sleep 15; } |',
  '"$0" --print --verbose --input-format stream-json --output-format stream-json',
  '--model claude-sonnet-4-5 --allowed-tools Bash'
].join(' ')

/**
 * Starts OpenCode's server, as its terminal interface does. The server sends spans every five seconds, whereas
 * `opencode run` alone ends without sending the last spans.
 */
const OPENCODE = [
  '"$0" serve --port 4096 >server.log 2>&1 & server=$!',
  'until grep -q listening server.log; do sleep 0.2; done',
  '"$0" run --attach http://127.0.0.1:4096 --auto "$1"; code=$?',
  'sleep 7',
  'kill $server; sleep 1',
  'exit $code'
].join('\n')
