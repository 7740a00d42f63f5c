/** `signmesh faults`, `nodes`, `clock`, `snapshots`, `sessions`, `wallets`, `intents`, `report`: see and change a running service. */
import { Command, InvalidArgumentError } from 'commander';
import { createClient } from '../clients/client/index.ts';
import { exitCodes, Failure } from './common/failure.ts';
import { type ServiceCommandName, serviceCommandTexts } from './common/service-commands.ts';
import { runSubcommand } from './common/subcommands.ts';
import { table } from './common/table.ts';
import { asFailure, type TargetFlags, targetOf, withTarget } from './events/public.ts';
import { type Action, type ActionFlags, type ActionResult, serviceActions, timeMs } from './service/public.ts';

type Flags = TargetFlags & ActionFlags & { readonly json?: boolean };

/** The first argument names the command. Resolves with an exit code. Throws a Failure. */
export async function run([first, ...args]: readonly string[]): Promise<number> {
  const name = first as ServiceCommandName;
  const program = new Command(`signmesh ${name}`)
    .description(serviceCommandTexts[name])
    .exitOverride()
    .configureOutput({ outputError: () => undefined })
    .addHelpText('after', '\nWithout --url and --token it uses the "signmesh up" that runs in the data directory.');
  const actions = serviceActions[name].map(({ usage }) => usage.split(' ')[0]!);
  const [asked = ''] = args;
  if (/^[^-]/.test(asked) && ![...actions, 'help'].includes(asked)) {
    throw new Failure(
      `"signmesh ${name}" has no ${JSON.stringify(asked)}: give ${actions.join(', ')}.`,
      exitCodes.usage,
    );
  }
  for (const [index, action] of serviceActions[name].entries()) addAction(program, action, index === 0);
  return (await runSubcommand(program, args)) ?? exitCodes.ok;
}

function addAction(program: Command, action: Action, isDefault: boolean): void {
  const command = withTarget(
    program
      .command(action.usage, { isDefault })
      .description(action.description)
      .option('--json', 'one JSON document on standard output'),
  );
  for (const option of action.options ?? []) {
    const { flag, text, read } = options[option];
    command.option(flag, text, read);
  }
  command.action(async (...given: unknown[]) => {
    const flags = command.opts<Flags>();
    const shown = await perform(action, flags, given.slice(0, -2).flat() as string[]);
    process.stdout.write(`${flags.json === true ? JSON.stringify(shown.value) : inWords(shown)}\n`);
  });
}

const options: Readonly<
  Record<keyof ActionFlags, { readonly flag: string; readonly text: string; read(text: string): unknown }>
> = {
  limit: { flag: '--limit <count>', text: 'at most so many (50)', read: count },
  reason: { flag: '--reason <text>', text: 'why, for the record', read: (text) => text },
  output: { flag: '-o, --output <file>', text: 'the file (signmesh.html)', read: (text) => text },
  restartAfter: {
    flag: '--restart-after <time>',
    text: 'such as 500ms or 5s; "never": it stays down until a restart',
    read: (text) => (text === 'never' ? text : timeMs(text)),
  },
};

async function perform(action: Action, flags: Flags, args: readonly string[]): Promise<ActionResult> {
  const target = targetOf(flags);
  const client = createClient({ baseUrl: target.url, token: target.token });
  const approver =
    target.approverToken === undefined ? client : createClient({ baseUrl: target.url, token: target.approverToken });
  try {
    return await action.run(
      { client, approver, url: target.url, flags },
      args.filter((arg) => arg !== undefined),
    );
  } catch (error) {
    throw asFailure(error, target);
  }
}

function inWords({ rows, words = '' }: ActionResult): string {
  return rows === undefined ? words : table(rows);
}

function count(text: string): number {
  if (/^[1-9]\d{0,4}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a number from 1 to 99999.');
}
