/** `signmesh completion bash|zsh|fish`: the commands and their actions, as the shell reads them. */
import { Argument, Command } from 'commander';
import { commandNames } from './command-line.ts';
import { exitCodes } from './common/failure.ts';
import { runSubcommand } from './common/subcommands.ts';
import { serviceActions } from './service/public.ts';

const shells = ['bash', 'zsh', 'fish'] as const;

/** Resolves with an exit code. Throws a Failure for a wrong call. */
export async function run(args: readonly string[]): Promise<number> {
  const program = new Command('signmesh completion')
    .description('Print the completion of the commands, for your shell’s start file.')
    .exitOverride()
    .configureOutput({ outputError: () => undefined })
    .addArgument(new Argument('<shell>').choices(shells))
    .addHelpText('after', '\nbash: eval "$(signmesh completion bash)"   fish: signmesh completion fish | source')
    .action((shell: (typeof shells)[number]) => void process.stdout.write(`${script(shell)}\n`));
  return (await runSubcommand(program, args)) ?? exitCodes.ok;
}

function script(shell: (typeof shells)[number]): string {
  const commands = commandNames().join(' ');
  const actions = Object.entries(serviceActions).map(
    ([name, list]) => [name, list.map(({ usage }) => usage.split(' ')[0]).join(' ')] as const,
  );
  if (shell === 'fish') {
    return [
      `complete -c signmesh -n __fish_use_subcommand -f -a '${commands}'`,
      ...actions.map(
        ([name, words]) => `complete -c signmesh -n '__fish_seen_subcommand_from ${name}' -f -a '${words}'`,
      ),
    ].join('\n');
  }
  const cases = actions.map(([name, words]) => `    2:${name}) words="${words}" ;;`).join('\n');
  return `${shell === 'zsh' ? 'autoload -U +X bashcompinit && bashcompinit\n' : ''}_signmesh() {
  local words=""
  case "$COMP_CWORD:\${COMP_WORDS[1]}" in
    1:*) words="${commands}" ;;
${cases}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _signmesh signmesh`;
}
