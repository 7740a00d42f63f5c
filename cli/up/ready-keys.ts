/**
 * The ready-made keys: made through the public API like anybody's, once, and read back the same way at every later
 * start. A second InitiateDkg of a known session is refused as a replay, and a whole round of a completed session
 * answers what it answered before.
 */
import { bitcoinTestnetAddress, evmAddress, solanaAddress } from '../../gateway/registry/addresses.ts';
import { defaultThreshold, defaultTotalNodes } from '../../proto/limits.ts';
import { errorText, Failure } from '../failure.ts';
import { sandboxSessions } from '../sandbox.ts';

const callTimeoutMs = 30_000;

export interface ReadyKey {
  readonly walletId: string;
  readonly curve: 'secp256k1' | 'ed25519';
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

/** Throws a Failure that carries the service's own words when a key cannot be made. */
export async function readyKeys(baseUrl: string, token: string, nodes: number): Promise<ReadyKey[]> {
  return Promise.all([
    readyKey(baseUrl, token, nodes, 'secp256k1', sandboxSessions.secp256k1),
    readyKey(baseUrl, token, nodes, 'ed25519', sandboxSessions.ed25519),
  ]);
}

async function readyKey(
  baseUrl: string,
  token: string,
  nodes: number,
  curve: ReadyKey['curve'],
  session: string,
): Promise<ReadyKey> {
  const call = (path: string, body: object) => post(`${baseUrl}${path}`, token, body);
  const opened = await call('/v1/dkg/initiate', { session_id: session, derivation: { curve }, ...sharing(nodes) });
  const known = opened.receipt?.reason_code === 'DUPLICATE_SESSION';
  if (!known && opened.receipt?.state !== 'RECEIPT_STATE_ACCEPTED') throw refused(session, opened);
  let round = await call('/v1/dkg/shares', { session_id: session });
  const resumeToken = round.checkpoint?.resume_token;
  if (round.receipt?.state !== 'RECEIPT_STATE_BACKEND_COMPLETED' && round.receipt?.resumable && resumeToken) {
    // An earlier start was stopped in the middle of it.
    await call('/v1/sessions/resume', { session_id: session, resume_token: resumeToken });
    round = await call('/v1/dkg/shares', { session_id: session });
  }
  const publicKey = /group public key ([0-9a-f]+)/.exec(round.receipt?.message ?? '')?.[1];
  if (round.receipt?.state !== 'RECEIPT_STATE_BACKEND_COMPLETED' || publicKey === undefined)
    throw refused(session, round);
  return { walletId: session, curve, publicKey, addresses: addressesOf(curve, Buffer.from(publicKey, 'hex')) };
}

/** 3 of 5, the default; a cluster of fewer nodes shares among those that it has. */
function sharing(nodes: number): object {
  return nodes < defaultTotalNodes ? { threshold: Math.min(defaultThreshold, nodes), total_nodes: nodes } : {};
}

function addressesOf(curve: ReadyKey['curve'], publicKey: Uint8Array): ReadyKey['addresses'] {
  if (curve === 'ed25519') return [{ network: 'Solana', address: solanaAddress(publicKey) }];
  return [
    { network: 'EVM', address: evmAddress(publicKey) },
    { network: 'Bitcoin testnet', address: bitcoinTestnetAddress(publicKey) },
  ];
}

function refused(session: string, answer: DkgAnswer): Failure {
  const { reason_code: reason, message } = answer.receipt ?? {};
  return new Failure(`The ready-made key ${session} cannot be had: ${reason ?? 'no receipt'}: ${message ?? ''}`);
}

async function post(url: string, token: string, body: object): Promise<DkgAnswer> {
  let response: Response;
  let text: string;
  try {
    response = await fetch(url, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(callTimeoutMs),
    });
    text = await response.text();
  } catch (error) {
    throw new Failure(`${url} does not answer: ${errorText(error)}`);
  }
  if (!response.ok) throw new Failure(`${url} answers ${response.status}: ${text.slice(0, 500)}`);
  return JSON.parse(text) as DkgAnswer;
}
