/** The codes with which a node refuses a request: those of the wire's partial refusals, and those of nodes/dkg/codes.ts. */
import { PartialRefusalCode } from '../../../proto/gen/signmesh/wire/v1/signing_pb.ts';

export type PartialRefusalName = Exclude<keyof typeof PartialRefusalCode, 'UNSPECIFIED'>;

/** As in `PartialRefusal.code`. */
export const partialRefusalCodes: readonly PartialRefusalName[] = Object.values(PartialRefusalCode).filter(
  (name): name is PartialRefusalName => typeof name === 'string' && name !== 'UNSPECIFIED',
);

/** As in `DkgRefused.code`. */
export const dkgRefusalCodes = [
  'REQUEST_INVALID',
  'PARAMETERS_CHANGED',
  'STALE_ATTEMPT',
  'NOT_OPEN',
  'ATTEMPT_DISCARDED',
  'ATTEMPT_BROKEN',
  'ALREADY_FINAL',
  'OPENING_INVALID',
  'NOT_FINISHED',
  'FINISH_FAILED',
  'SIGNATURE_INVALID',
  'TRANSCRIPT_MISMATCH',
  'HSM_UNCONFIGURED',
  'HSM_SESSION_LOST',
  'HSM_PIN_REFUSED',
  'HSM_TIMEOUT',
  'HSM_TOKEN_ABSENT',
  'HSM_FAILED',
  'VENDOR_UNCONFIGURED',
  'VENDOR_UNAVAILABLE',
  'CLIENT_DEALERS_NOT_ALLOWED',
  'ORDER_INVALID',
  'KEY_UNKNOWN',
  'RESULT_SIGNED',
] as const;
export type DkgRefusalName = (typeof dkgRefusalCodes)[number];

export type RefusalName = PartialRefusalName | DkgRefusalName;

/** Each once. */
export const refusalCodes: readonly RefusalName[] = [...new Set([...partialRefusalCodes, ...dkgRefusalCodes])];

export function isPartialRefusal(code: RefusalName): code is PartialRefusalName {
  return (partialRefusalCodes as readonly RefusalName[]).includes(code);
}

export function isDkgRefusal(code: RefusalName): code is DkgRefusalName {
  return (dkgRefusalCodes as readonly RefusalName[]).includes(code);
}
