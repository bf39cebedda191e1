import { command, UsageError } from '../command.ts'
import { completionScript, SHELLS } from '../terminal/completion-scripts.ts'

export default command({
  summary: 'Print a script that completes commands and flags in bash, zsh or fish',
  parameters: ['SHELL'],
  lastIsOptional: true,
  details: [
    'For bash, which is the default, add this line to ~/.bashrc: eval "$(spoor completion)"',
    'For zsh, add this line to ~/.zshrc after compinit: eval "$(spoor completion zsh)"',
    'For fish, run: `spoor completion fish | source`'
  ].join('\n'),
  examples: [
    'completion > ~/.local/share/bash-completion/completions/spoor',
    'completion zsh > ~/.zfunc/_spoor',
    'completion fish > ~/.config/fish/completions/spoor.fish'
  ],
  async run({ parameters, print }) {
    const shell = SHELLS.find(shell => shell === (parameters.SHELL ?? 'bash'))
    if (shell === undefined) {
      throw new UsageError(`SHELL must be one of ${SHELLS.join(', ')}, not ${JSON.stringify(parameters.SHELL)}`)
    }
    // Imported here because the list of commands itself imports this command.
    const { commands } = await import('./index.ts')
    const script = completionScript(shell, commands)
    print({ script }, script)
  }
})
