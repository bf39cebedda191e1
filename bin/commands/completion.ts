import { command } from '../command.ts'
import type { Commands } from '../command-line.ts'

export default command({
  summary: 'Print a script that completes commands and flags in bash',
  usage: {
    parameters: [],
    flags: {},
    details: 'For the shell at hand: eval "$(spoor completion)". For every one to come: put that line into ~/.bashrc.',
    examples: ['completion', 'completion > ~/.local/share/bash-completion/completions/spoor']
  },
  async run({ print }) {
    // Imported here and not above, because the list of commands has this command in it.
    const { commands } = await import('./index.ts')
    const script = completionScript(commands)
    print({ script }, script)
  }
})

/** A script that completes the words of commands and flags, and file names wherever nothing else can stand. */
function completionScript(commands: Commands): string {
  const names = Object.keys(commands)
  const nouns = [...new Set(names.map(name => name.split(' ')[0]!))]
  const cases = names.map(name => {
    const flags = [...Object.keys(commands[name]!.usage.flags), 'json', 'help'].map(flag => `--${flag}`)
    return `    '${name} '*) [[ $current == -* ]] && options='${flags.join(' ')}' ;;`
  })
  for (const noun of nouns) {
    const verbs = names.filter(name => name.startsWith(`${noun} `)).map(name => name.slice(noun.length + 1))
    if (verbs.length > 0) cases.push(`    '${noun} ') options='${verbs.join(' ')}' ;;`)
  }
  return [
    '_spoor() {',
    `  local current=\${COMP_WORDS[COMP_CWORD]} options=`,
    `  case "\${COMP_WORDS[*]:1:COMP_CWORD-1} " in`,
    ...cases,
    `    ' ') options='${nouns.join(' ')} help' ;;`,
    '  esac',
    '  COMPREPLY=($(compgen -W "$options" -- "$current"))',
    '}',
    'complete -o default -F _spoor spoor'
  ].join('\n')
}
