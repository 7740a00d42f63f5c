/**
 * The ready-made keys: made once, through the public API like any client's, and read back the same way at every later start. The
 * service refuses a second InitiateDkg of a known session as a replay, and repeats its answer to a whole round of a completed
 * session.
 */

import type { KeyScheme } from '../../proto/key-schemes.ts';
import { defaultThreshold, defaultTotalNodes } from '../../proto/limits.ts';
import { bitcoinTestnetAddress, evmAddress, solanaAddress } from '../../wallets/networks/addresses.ts';
import { sandboxSchemes, sandboxSessions } from '../cluster-files/sandbox.ts';
import { errorText, Failure } from '../common/failure.ts';
import { callHttp } from '../common/http.ts';
import { Progress } from './progress.ts';

const callTimeoutMs = 30_000;
const retryMs = 100;

export interface ReadyKey {
  readonly walletId: string;
  readonly curve: 'secp256k1' | 'ed25519';
  /** The only scheme that it signs with. */
  readonly scheme: KeyScheme;
  /** Compressed, hex. */
  readonly publicKey: string;
  readonly addresses: readonly { readonly network: string; readonly address: string }[];
}

interface DkgAnswer {
  readonly session_id?: string;
  readonly receipt?: {
    readonly state?: string;
    readonly reason_code?: string;
    readonly message?: string;
    readonly resumable?: boolean;
  };
  readonly checkpoint?: { readonly resume_token?: string };
}

interface SessionView {
  /** Compressed, hex. */
  readonly public_key?: string | null;
}

/** One request with the sandbox's own token. `status` 0: there was no answer; `text` says why. */
export type Ask = (path: string, request: Asked) => Promise<{ readonly status: number; readonly text: string }>;

export interface ReadyKeysOptions {
  readonly ask: Ask;
  readonly nodes: number;
  /** The processes that make the keys. None: this one does. */
  readonly pids?: () => readonly number[];
  /** Called with the service's own message at each retry. */
  readonly onWaiting?: (why: string) => void;
}

/**
 * Retries as long as the service calls a retry useful and reports progress. Throws a Failure with its message when a key cannot
 * be made.
 */
export async function readyKeys(options: ReadyKeysOptions): Promise<ReadyKey[]> {
  // One after the other: the nodes of a large cluster compute for minutes, and each call should have its answer in time.
  return [
    await readyKey(options, 'secp256k1', sandboxSessions.secp256k1),
    await readyKey(options, 'ed25519', sandboxSessions.ed25519),
    await readyKey(options, 'secp256k1', sandboxSessions.bip340),
  ];
}

async function readyKey(options: ReadyKeysOptions, curve: ReadyKey['curve'], session: string): Promise<ReadyKey> {
  const patience = new Patience(options);
  const call = (path: string, body: object) => patience.post(path, body);
  const opened = await call('/v1/dkg/initiate', {
    session_id: session,
    derivation: { curve },
    ...sharing(options.nodes),
  });
  const known = opened.receipt?.reason_code === 'DUPLICATE_SESSION';
  if (!known && opened.receipt?.state !== 'RECEIPT_STATE_ACCEPTED') throw refused(session, opened);
  for (;;) {
    const round = await call('/v1/dkg/shares', { session_id: session });
    if (round.receipt?.state === 'RECEIPT_STATE_BACKEND_COMPLETED') {
      const { public_key: publicKey } = await patience.get<SessionView>(`/v1/sandbox/sessions/${session}`);
      if (!publicKey) throw new Error(`the completed session ${session} has no public key`);
      const scheme = sandboxSchemes[session];
      if (scheme === undefined) throw new Error(`the scheme of ${session} is unknown`);
      const addresses = addressesOf(scheme, Buffer.from(publicKey, 'hex'));
      return { walletId: session, curve, scheme, publicKey, addresses };
    }
    // An earlier start was stopped during it, or some nodes are not linked yet.
    const resumeToken = round.checkpoint?.resume_token;
    if (!round.receipt?.resumable || !resumeToken) throw refused(session, round);
    await patience.waitOrThrow(round.receipt.message ?? '', refused(session, round));
    await call('/v1/sessions/resume', { session_id: session, resume_token: resumeToken });
  }
}

/** 3 of 5, the default; a smaller cluster shares the key among all its nodes. */
function sharing(nodes: number): object {
  return nodes < defaultTotalNodes ? { threshold: Math.min(defaultThreshold, nodes), total_nodes: nodes } : {};
}

/** On networks whose transactions its scheme signs. */
function addressesOf(scheme: KeyScheme, publicKey: Uint8Array): ReadyKey['addresses'] {
  if (scheme === 'frost_ed25519') return [{ network: 'Solana', address: solanaAddress(publicKey) }];
  if (scheme === 'frost_bip340') return [];
  return [
    { network: 'EVM', address: evmAddress(publicKey) },
    { network: 'Bitcoin testnet', address: bitcoinTestnetAddress(publicKey) },
  ];
}

function refused(session: string, answer: DkgAnswer): Failure {
  const { reason_code: reason, message } = answer.receipt ?? {};
  return new Failure(`The ready-made key ${session} is not available: ${reason ?? 'no receipt'}: ${message ?? ''}`);
}

/** Calls that it repeats while the service cannot serve them yet. */
class Patience {
  readonly #options: ReadyKeysOptions;
  readonly #progress: Progress;

  constructor(options: ReadyKeysOptions) {
    this.#options = options;
    this.#progress = new Progress(options.pids);
  }

  /** Throws `failure` when no progress came for too long. */
  async waitOrThrow(why: string, failure: Failure): Promise<void> {
    if (this.#progress.isStalled(why)) throw failure;
    this.#options.onWaiting?.(why);
    await new Promise((resolve) => setTimeout(resolve, retryMs));
  }

  post(path: string, body: object): Promise<DkgAnswer> {
    return this.#ask(path, { method: 'POST', body: JSON.stringify(body) });
  }

  get<T>(path: string): Promise<T> {
    return this.#ask(path, { method: 'GET' });
  }

  async #ask<T>(path: string, request: Asked): Promise<T> {
    for (;;) {
      const { status, text } = await this.#options.ask(path, request);
      if (status === 200) return JSON.parse(text) as T;
      const failure = new Failure(`${path} ${status === 0 ? text : `answers ${status}: ${text.slice(0, 500)}`}`);
      if (!repeatable.has(status)) throw failure;
      await this.waitOrThrow(status === 0 ? text : messageOf(text), failure);
    }
  }
}

interface Asked {
  readonly method: 'GET' | 'POST';
  readonly body?: string;
}

/** 0: no answer. */
const repeatable: ReadonlySet<number> = new Set([0, 429, 503, 504]);

/** Calls a service by its address. `token`: secret. */
export function askAt(baseUrl: string, token: string): Ask {
  return async (path, request) => {
    try {
      return await callHttp(`${baseUrl}${path}`, {
        ...request,
        headers: {
          authorization: `Bearer ${token}`,
          ...(request.body !== undefined && { 'content-type': 'application/json' }),
        },
        timeoutMs: callTimeoutMs,
      });
    } catch (error) {
      return { status: 0, text: `of ${baseUrl} does not answer: ${errorText(error)}` };
    }
  };
}

function messageOf(text: string): string {
  try {
    return (JSON.parse(text) as { error?: { message?: string } }).error?.message ?? '';
  } catch {
    return text.slice(0, 200);
  }
}
