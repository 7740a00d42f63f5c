/**
 * Resume tokens: an HMAC under the coordinator's key over tenant, session, checkpoint and epoch. It is the same in every
 * response of that epoch, so that a client that lost a response can ask again; nothing secret is stored.
 *
 * Form: "rt1_" + base64url(epoch, 4 bytes big-endian | checkpoint UUID, 16 bytes | HMAC-SHA256, 32 bytes).
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { resumeTokenCharsMax } from '../../proto/limits.ts';

const prefix = 'rt1_';
const tokenBytes = 4 + 16 + 32;

export interface ResumePoint {
  readonly tenant: string;
  readonly sessionId: string;
  readonly checkpointId: string;
  readonly epoch: number;
}

export function resumeToken(key: Uint8Array, point: ResumePoint): string {
  const head = Buffer.alloc(20);
  head.writeUInt32BE(point.epoch);
  head.set(uuidBytes(point.checkpointId), 4);
  return prefix + Buffer.concat([head, mac(key, point)]).toString('base64url');
}

/** The epoch and checkpoint of a token that this key made for this session; undefined for anything else. */
export function readResumeToken(
  key: Uint8Array,
  session: { readonly tenant: string; readonly sessionId: string },
  token: string,
): { readonly epoch: number; readonly checkpointId: string } | undefined {
  if (token.length > resumeTokenCharsMax || !token.startsWith(prefix)) return undefined;
  const body = token.slice(prefix.length);
  const bytes = Buffer.from(body, 'base64url');
  if (bytes.length !== tokenBytes || bytes.toString('base64url') !== body) return undefined;
  const epoch = bytes.readUInt32BE();
  const hex = bytes.toString('hex', 4, 20);
  const uuid = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
  const point = { ...session, epoch, checkpointId: `ckp_${uuid}` };
  return timingSafeEqual(mac(key, point), bytes.subarray(20)) ? { epoch, checkpointId: point.checkpointId } : undefined;
}

function mac(key: Uint8Array, point: ResumePoint): Buffer {
  return createHmac('sha256', key)
    .update(JSON.stringify(['signmesh/resume/v1', point.tenant, point.sessionId, point.checkpointId, point.epoch]))
    .digest();
}

function uuidBytes(checkpointId: string): Buffer {
  return Buffer.from(checkpointId.slice('ckp_'.length).replaceAll('-', ''), 'hex');
}
