/**
 * `signmesh listen`: prints a tenant's events as they happen, one line each, and on request posts each to a local URL, signed as
 * a webhook would be. It tries each post once: for guaranteed delivery use a webhook.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import type { Event } from '../clients/client/generated-api.ts';
import { readBase64 } from '../proto/base64.ts';
import { exitCodes, Failure } from './common/failure.ts';
import { readIfThere, replaceShortLived } from './common/files.ts';
import { runSubcommand } from './common/subcommands.ts';
import { follow, forward, type ServiceTarget, type TargetFlags, targetOf, withTarget } from './events/public.ts';
import { loadSettings } from './settings/config.ts';

interface Flags extends TargetFlags {
  readonly types?: string;
  readonly json?: boolean;
  readonly forward?: string;
  readonly secret?: string;
  readonly after?: string;
}

export interface ListenOptions {
  readonly target: ServiceTarget;
  readonly types?: string | undefined;
  /** The place to begin: after this sequence; now by default. */
  readonly after?: string | undefined;
  /** Lines of JSON: the events as received. */
  readonly json?: boolean | undefined;
  readonly forward?: { readonly url: string; readonly secret: string } | undefined;
  readonly signal: AbortSignal;
  /** A line about an event. */
  readonly write: (line: string) => void;
  /** A line about anything else. */
  readonly note: (line: string) => void;
}

/** Resolves with an exit code, after Ctrl-C. Throws a Failure for a wrong call, and when the service refuses. */
export async function run(args: readonly string[]): Promise<number> {
  const command = makeCommand();
  const ended = await runSubcommand(command, args);
  if (ended !== undefined) return ended;
  const flags = command.opts<Flags>();
  if (flags.secret !== undefined && flags.forward === undefined) {
    throw new Failure('--secret signs forwarded events: give --forward too.', exitCodes.usage);
  }
  const interrupted = new AbortController();
  const stop = () => interrupted.abort();
  process.once('SIGINT', stop).once('SIGTERM', stop);
  try {
    await listen({
      target: targetOf(flags),
      types: flags.types,
      after: flags.after,
      json: flags.json,
      forward:
        flags.forward === undefined ? undefined : { url: flags.forward, secret: flags.secret ?? keptSecret(flags) },
      signal: interrupted.signal,
      write: (line) => process.stdout.write(`${line}\n`),
      note: (line) => process.stderr.write(`signmesh: ${line}\n`),
    });
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop);
  }
  return exitCodes.ok;
}

/** Resolves when the caller stopped it. */
export async function listen(options: ListenOptions): Promise<void> {
  const { target, types, after, json, signal, write, note, forward: to } = options;
  let isOpen = false;
  if (to !== undefined) note(`forwarding to ${to.url}, signed with ${to.secret}`);
  await follow({
    target,
    types,
    afterSequence: after,
    signal,
    onOpen: () => {
      note(isOpen ? 'connected again' : `listening to ${target.url}; Ctrl-C ends it`);
      isOpen = true;
    },
    onBreak: (reason) => note(`${reason}; connecting again`),
    onEvent: async (event, text) => {
      write(json ? text : lineOf(event));
      if (to === undefined) return;
      const outcome = await forward(to.url, to.secret, event.id, text);
      if (json) note(`#${event.sequence} forwarded: ${outcome}`);
      else write(`${' '.repeat(12)}  → ${outcome}`);
    },
  });
}

const typeWidth = 34;

function lineOf({ timestamp, sequence, type, resource, data }: Event): string {
  const { status } = data.object as { readonly status?: unknown };
  const detail = typeof status === 'string' ? ` (${status})` : '';
  return `${timestamp.slice(11, 23)}  #${sequence}  ${type.padEnd(typeWidth)}  ${resource.id}${detail}`;
}

function makeCommand(): Command {
  return withTarget(
    new Command('signmesh listen')
      .description('Print events as they happen; Ctrl-C ends it.')
      .option('--types <list>', 'only these types, such as transaction_intent.*,wallet.created')
      .option('--json', 'print one event a line, as JSON of the API')
      .option('--forward <url>', 'post each event to this URL, signed like a webhook', localUrl)
      .option(
        '--secret <whsec>',
        'the secret that signs them; by default the data directory’s own, which is printed first',
        secretText,
      )
      .option('--after <sequence>', 'begin after this sequence number; by default with new events', sequence),
  )
    .exitOverride()
    .configureOutput({ outputError: () => undefined })
    .addHelpText(
      'after',
      '\nWithout --url and --token it listens to the "signmesh up" that runs in the data directory.',
    );
}

/** A receiver keeps its settings between runs: the secret of a data directory stays the same. */
export function keptSecret({ url, token, dataDir }: TargetFlags): string {
  const fresh = `whsec_${randomBytes(32).toString('base64')}`;
  if (url !== undefined && token !== undefined) return fresh;
  const { settings } = loadSettings({ ...process.env, ...(dataDir !== undefined && { SIGNMESH_DATA_DIR: dataDir }) });
  const file = join(settings.SIGNMESH_DATA_DIR, 'listen.secret');
  const kept = readIfThere(file)?.trim();
  if (kept !== undefined && isSecret(kept)) return kept;
  replaceShortLived(file, `${fresh}\n`);
  return fresh;
}

function localUrl(text: string): string {
  if (/^https?:\/\//.test(text) && URL.canParse(text)) return text;
  throw new InvalidArgumentError('It must be a URL such as http://127.0.0.1:3000/hooks.');
}

function secretText(text: string): string {
  if (isSecret(text)) return text;
  throw new InvalidArgumentError('It must be whsec_ and base64.');
}

function isSecret(text: string): boolean {
  return /^whsec_[A-Za-z0-9+/]{24,128}={0,2}$/.test(text) && readBase64(text.slice('whsec_'.length)) !== undefined;
}

function sequence(text: string): string {
  if (/^(0|[1-9]\d{0,14})$/.test(text)) return text;
  throw new InvalidArgumentError('It must be a whole number from 0.');
}
