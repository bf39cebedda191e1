/**
 * The coding agents with which spoor's MCP endpoint is tested: how each is installed, configured and started. All of
 * them run unattended, allow every tool, and neither send telemetry nor check for updates.
 *
 * Install scripts do not run, so each agent is started from its npm package or from its package for this platform.
 */
import { join } from 'node:path'

export interface CodingAgent {
  readonly name: string
  /** The npm package and its version. */
  readonly npm: string
  readonly version: string
  /**
   * Returns the name under which the agent offers a tool of the server `spoor` to its model, including the namespace if
   * the agent uses one.
   */
  readonly toolName: (tool: string) => string
  /**
   * The part of a tool's result that the agent gives to its model. `both`: both parts if they differ, otherwise one.
   */
  readonly reads: 'text' | 'structuredContent' | 'both'
  /** The call of the agent's own tool that reads the guide, if it has one. */
  readonly guide?: readonly [tool: string, input: object]
  /** The format of the agent's transcripts, and their folder below the home folder, if spoor can import them. */
  readonly transcripts?: readonly [format: string, folder: string]
  /** Returns the command line. A program that ends with `.js` is started with node. */
  readonly command: (given: Given) => readonly [string, ...string[]]
  readonly env: (given: Given) => Readonly<Record<string, string>>
  /** Returns configuration files by their paths below the home folder. */
  readonly files: (given: Given) => Readonly<Record<string, string | object>>
}

export interface Given {
  /** The folder with the npm packages, and the agent's home folder, which is also its working folder. */
  readonly modules: string
  readonly home: string
  /** The address of the model provider. */
  readonly provider: string
  /** The address of spoor's MCP endpoint, and the key. */
  readonly mcp: string
  readonly key: string
  readonly prompt: string
}

const GUIDE = { uri: 'spoor://guide' }
const OF_SERVER = { server: 'spoor', ...GUIDE }
const PLATFORM = `${process.platform}-${process.arch}`
const MODEL_KEY = 'sk-fake'
const authorization = (key: string) => ({ Authorization: `Bearer ${key}` })

export const CODING_AGENTS: readonly CodingAgent[] = [
  {
    name: 'Claude Code',
    npm: '@anthropic-ai/claude-code',
    version: '2.1.332',
    toolName: tool => `mcp__spoor__${tool}`,
    reads: 'structuredContent',
    guide: ['ReadMcpResourceTool', OF_SERVER],
    transcripts: ['claude-code', '.claude/projects'],
    command: ({ modules, prompt }) => [
      join(modules, `@anthropic-ai/claude-code-${PLATFORM}`, 'claude'),
      ...['--print', prompt, '--model', 'claude-sonnet-4-5', '--output-format', 'json'],
      ...['--mcp-config', '.mcp.json', '--strict-mcp-config', '--allowed-tools', 'mcp__spoor']
    ],
    env: ({ provider }) => ({
      ANTHROPIC_BASE_URL: provider,
      ANTHROPIC_API_KEY: MODEL_KEY,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
      DISABLE_TELEMETRY: '1',
      // If this were not set, the model would get a tool that searches for tools, and would see the server's tools only
      // after using it.
      ENABLE_TOOL_SEARCH: 'false'
    }),
    files: ({ mcp, key }) => ({
      '.mcp.json': { mcpServers: { spoor: { type: 'http', url: mcp, headers: authorization(key) } } }
    })
  },
  {
    name: 'Codex',
    npm: '@openai/codex',
    version: '0.171.0',
    toolName: tool => `mcp__spoor${tool}`,
    reads: 'structuredContent',
    guide: ['read_mcp_resource', OF_SERVER],
    transcripts: ['codex', '.codex/sessions'],
    command: ({ modules, prompt }) => [
      join(modules, '@openai/codex/bin/codex.js'),
      ...['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', prompt]
    ],
    env: ({ home, key }) => ({ CODEX_HOME: join(home, '.codex'), MODEL_KEY, SPOOR_API_KEY: key }),
    files: ({ provider, mcp }) => ({
      '.codex/config.toml': [
        'model = "gpt-5"',
        // The agent sets this limit for models that it knows. Results for other models are cut to 10 kB.
        'tool_output_token_limit = 10000',
        'model_provider = "loopback"',
        'check_for_update_on_startup = false',
        '[model_providers.loopback]',
        'name = "loopback"',
        `base_url = "${provider}/v1"`,
        'wire_api = "responses"',
        'env_key = "MODEL_KEY"',
        '[mcp_servers.spoor]',
        `url = "${mcp}"`,
        'bearer_token_env_var = "SPOOR_API_KEY"',
        '[analytics]',
        'enabled = false',
        ''
      ].join('\n')
    })
  },
  {
    name: 'Gemini CLI',
    npm: '@google/gemini-cli',
    version: '0.61.0',
    toolName: tool => `mcp_spoor_${tool}`,
    reads: 'text',
    guide: ['read_mcp_resource', GUIDE],
    command: ({ modules, prompt }) => [
      join(modules, '@google/gemini-cli/bundle/gemini.js'),
      ...['--prompt', prompt, '--model', 'gemini-2.5-pro', '--approval-mode', 'yolo', '--skip-trust']
    ],
    env: ({ provider }) => ({
      GOOGLE_GEMINI_BASE_URL: provider,
      GEMINI_API_KEY: MODEL_KEY,
      GEMINI_TELEMETRY_ENABLED: 'false'
    }),
    files: ({ mcp, key }) => ({
      '.gemini/settings.json': {
        security: { auth: { selectedType: 'gemini-api-key' } },
        general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
        privacy: { usageStatisticsEnabled: false },
        mcpServers: { spoor: { httpUrl: mcp, headers: authorization(key), trust: true } }
      }
    })
  },
  {
    name: 'Qwen Code',
    npm: '@qwen-code/qwen-code',
    version: '0.24.4',
    toolName: tool => `mcp__spoor__${tool}`,
    reads: 'both',
    guide: ['read_mcp_resource', { server_name: 'spoor', ...GUIDE }],
    command: ({ modules, prompt }) => [
      join(modules, '@qwen-code/qwen-code/cli-entry.js'),
      ...['--prompt', prompt, '--model', 'qwen3-coder-plus', '--auth-type', 'openai', '--approval-mode', 'yolo']
    ],
    env: ({ provider }) => ({ OPENAI_BASE_URL: `${provider}/v1`, OPENAI_API_KEY: MODEL_KEY }),
    files: ({ mcp, key }) => ({
      '.qwen/settings.json': {
        general: { enableAutoUpdate: false },
        privacy: { usageStatisticsEnabled: false },
        // If this were not set, the model would get a tool that searches for tools, and would see the server's tools
        // only after using it.
        tools: { toolSearch: { enabled: false } },
        mcpServers: { spoor: { httpUrl: mcp, headers: authorization(key), trust: true } }
      }
    })
  },
  {
    name: 'GitHub Copilot CLI',
    npm: '@github/copilot',
    version: '1.0.102',
    toolName: tool => `spoor-${tool}`,
    reads: 'both',
    command: ({ modules, prompt }) => [
      join(modules, `@github/copilot-${PLATFORM}`, 'copilot'),
      ...['--prompt', prompt, '--allow-all-tools', '--no-auto-update', '--disable-builtin-mcps']
    ],
    env: ({ provider, home }) => ({
      COPILOT_HOME: join(home, '.copilot'),
      COPILOT_OFFLINE: 'true',
      COPILOT_MODEL: 'gpt-4.1',
      COPILOT_PROVIDER_BASE_URL: `${provider}/v1`,
      COPILOT_PROVIDER_API_KEY: MODEL_KEY
    }),
    files: ({ mcp, key }) => ({
      '.copilot/mcp-config.json': {
        mcpServers: { spoor: { type: 'http', url: mcp, headers: authorization(key), tools: ['*'] } }
      }
    })
  },
  {
    name: 'OpenCode',
    npm: 'opencode-ai',
    version: '1.18.33',
    toolName: tool => `spoor_${tool}`,
    reads: 'text',
    guide: ['read_mcp_resource', OF_SERVER],
    command: ({ modules, prompt }) => [join(modules, `opencode-${PLATFORM}`, 'bin/opencode'), 'run', '--auto', prompt],
    env: () => ({ OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_DISABLE_MODELS_FETCH: '1' }),
    files: ({ provider, mcp, key }) => ({
      'opencode.json': {
        autoupdate: false,
        share: 'disabled',
        model: 'loopback/fake',
        small_model: 'loopback/fake',
        provider: {
          loopback: {
            npm: '@ai-sdk/openai-compatible',
            options: { baseURL: `${provider}/v1`, apiKey: MODEL_KEY },
            models: { fake: { tool_call: true, limit: { context: 1_000_000, output: 8000 } } }
          }
        },
        mcp: { spoor: { type: 'remote', url: mcp, headers: authorization(key), oauth: false } }
      }
    })
  }
]
