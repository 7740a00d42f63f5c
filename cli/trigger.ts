/**
 * `signmesh trigger <type>`: causes a real event of a type, by calls of the API, and shows it. It fakes nothing: every listener
 * and webhook of the tenant gets the same event.
 */
import { Command } from 'commander';
import type { Event } from '../clients/client/generated-api.ts';
import { eventTypes } from '../wallets/delivery/events/public.ts';
import { exitCodes, Failure } from './common/failure.ts';
import { nearest } from './common/nearest-word.ts';
import { runSubcommand } from './common/subcommands.ts';
import {
  asFailure,
  follow,
  RecipeApi,
  recipes,
  type ServiceTarget,
  type TargetFlags,
  targetOf,
  triggerTypes,
  untriggered,
  withTarget,
} from './events/public.ts';

interface Flags extends TargetFlags {
  readonly list?: boolean;
  readonly json?: boolean;
}

/** An approval takes a minute to expire. */
const eventWithinMs = 90_000;

/** Resolves with an exit code. Throws a Failure for a wrong call, and when it could not cause the event. */
export async function run(args: readonly string[]): Promise<number> {
  const command = makeCommand();
  const ended = await runSubcommand(command, args);
  if (ended !== undefined) return ended;
  const flags = command.opts<Flags>();
  const [type] = command.args;
  if (flags.list === true) {
    process.stdout.write(`${listing().join('\n')}\n`);
    return exitCodes.ok;
  }
  if (type === undefined) throw new Failure('Give an event type: signmesh trigger --list lists them.', exitCodes.usage);
  needType(type);
  const { event, text } = await trigger(type, targetOf(flags));
  process.stdout.write(flags.json === true ? `${text}\n` : `${type}  #${event.sequence}  ${event.resource.id}\n`);
  return exitCodes.ok;
}

/** The resulting event. Throws a Failure. */
export async function trigger(
  type: string,
  target: ServiceTarget,
): Promise<{ readonly event: Event; readonly text: string }> {
  const recipe = needType(type);
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(), eventWithinMs);
  let found: { readonly event: Event; readonly text: string } | undefined;
  let opened = (): void => undefined;
  const stands = new Promise<void>((resolve) => {
    opened = resolve;
  });
  const following = follow({
    target,
    types: type,
    afterSequence: undefined,
    signal: over.signal,
    onOpen: () => opened(),
    onBreak: () => undefined,
    onEvent: (event, text) => {
      found ??= { event, text };
      over.abort();
    },
  });
  try {
    await Promise.race([stands, following]);
    await recipe(new RecipeApi(target)).catch((error: unknown) => {
      throw asFailure(error, target);
    });
    await following;
  } finally {
    clearTimeout(timer);
    over.abort();
    await following.catch(() => undefined);
  }
  if (found === undefined) throw new Failure(`No ${type} arrived within ${eventWithinMs / 1000} s.`);
  return found;
}

function needType(type: string) {
  const recipe = recipes.get(type);
  if (recipe !== undefined) return recipe;
  const reason = untriggered.get(type);
  if (reason !== undefined) throw new Failure(`${type} cannot be triggered. ${reason}`);
  const candidate = nearest(type, triggerTypes);
  const hint = candidate === undefined ? ' (--list names them)' : ` (did you mean ${candidate}?)`;
  throw new Failure(`There is no event ${JSON.stringify(type)}${hint}.`, exitCodes.usage);
}

function listing(): string[] {
  const width = Math.max(...triggerTypes.map(({ length }) => length)) + 2;
  return triggerTypes.map((type) => {
    const reason = untriggered.get(type);
    return `${type.padEnd(width)}${eventTypes[type]}${reason === undefined ? '' : ` Not to be triggered: ${reason}`}`;
  });
}

function makeCommand(): Command {
  return withTarget(
    new Command('signmesh trigger')
      .description('Perform the operation that causes an event, through the API.')
      .argument('[type]', 'such as transaction_intent.completed')
      .option('--list', 'every type')
      .option('--json', 'the event, as the API shows it'),
  )
    .exitOverride()
    .configureOutput({ outputError: () => undefined })
    .addHelpText('after', '\nWithout --url and --token it uses the "signmesh up" that runs in the data directory.');
}
