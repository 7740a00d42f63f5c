/**
 * The process of a PKCS#11 module: loads it through pkcs11js (an optional package: the operator builds it), logs in once, and
 * serves requests one at a time until the first fault, after which its node ends it. It blocks while the module works.
 *
 * Keys are made in the token (CKA_SENSITIVE, not CKA_EXTRACTABLE) and found by their label. PKCS #11 3.0 and 2.40.
 */
import { createHash } from 'node:crypto';
import { writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import type { Curve } from '../../core/crypto/group.ts';
import type { HsmFault, HsmRequest } from '../records/hsm-port.ts';
import { answersFd, type FromChild, readRequest, type ToChild, writeLine } from './protocol.ts';

type Pkcs11 = import('pkcs11js').PKCS11;
type Handle = import('pkcs11js').Handle;
type Library = typeof import('pkcs11js');

/** PKCS #11 3.0 names that pkcs11js lacks. */
const CKM_EC_EDWARDS_KEY_PAIR_GEN = 0x1055;
const CKM_EDDSA = 0x1057;
/** DER object identifiers: secp256k1 (SEC 2), id-Ed25519 (RFC 8410). */
const curveParameters: Readonly<Record<Curve, Buffer>> = {
  secp256k1: Buffer.from('06052b8104000a', 'hex'),
  ed25519: Buffer.from('06032b6570', 'hex'),
};

/** By the return values of PKCS #11 §5.1; the others are HSM_FAILED. */
const faults: ReadonlyMap<string, HsmFault> = new Map([
  ...['PIN_INCORRECT', 'PIN_INVALID', 'PIN_LEN_RANGE', 'PIN_LOCKED', 'PIN_EXPIRED', 'USER_PIN_NOT_INITIALIZED'].map(
    (name) => [`CKR_${name}`, 'HSM_PIN_REFUSED'] as const,
  ),
  ...['SESSION_CLOSED', 'SESSION_HANDLE_INVALID', 'USER_NOT_LOGGED_IN', 'CRYPTOKI_NOT_INITIALIZED', 'DEVICE_ERROR'].map(
    (name) => [`CKR_${name}`, 'HSM_SESSION_LOST'] as const,
  ),
  ...[
    'TOKEN_NOT_PRESENT',
    'TOKEN_NOT_RECOGNIZED',
    'DEVICE_REMOVED',
    'SLOT_ID_INVALID',
    'KEY_HANDLE_INVALID',
    'OBJECT_HANDLE_INVALID',
  ].map((name) => [`CKR_${name}`, 'HSM_TOKEN_ABSENT'] as const),
]);

/** A fault with a text that quotes no secret. */
class TokenError extends Error {
  readonly fault: HsmFault;

  constructor(fault: HsmFault, message: string) {
    super(message);
    this.fault = fault;
  }
}

interface Opened {
  readonly library: Library;
  readonly module: Pkcs11;
  readonly session: Handle;
}

function open({ module: path, token: label, pin }: Extract<ToChild, { kind: 'open' }>): Opened {
  const library = createRequire(import.meta.url)('pkcs11js') as Library;
  const module = new library.PKCS11();
  module.load(path);
  module.C_Initialize();
  const slot = module.C_GetSlotList(true).find((one) => module.C_GetTokenInfo(one).label.trim() === label);
  if (slot === undefined) throw new TokenError('HSM_TOKEN_ABSENT', `no token with the label ${JSON.stringify(label)}`);
  const session = module.C_OpenSession(slot, library.CKF_SERIAL_SESSION | library.CKF_RW_SESSION);
  module.C_Login(session, library.CKU_USER, pin);
  return { library, module, session };
}

/** All objects of a class with a label. */
function find({ library, module, session }: Opened, objectClass: number, label: string): Handle[] {
  module.C_FindObjectsInit(session, [
    { type: library.CKA_CLASS, value: objectClass },
    { type: library.CKA_LABEL, value: label },
  ]);
  try {
    return module.C_FindObjects(session, 16);
  } finally {
    module.C_FindObjectsFinal(session);
  }
}

function objectsOf(opened: Opened, label: string): { readonly privates: Handle[]; readonly publics: Handle[] } {
  const { CKO_PRIVATE_KEY, CKO_PUBLIC_KEY } = opened.library;
  return { privates: find(opened, CKO_PRIVATE_KEY, label), publics: find(opened, CKO_PUBLIC_KEY, label) };
}

/**
 * The key of this label, created if missing. An interrupted creation (its process timed out) may have left one half of a pair.
 * It cannot have signed anything, and a second pair under its label would not match it: destroy such leftovers first.
 */
function make(opened: Opened, label: string, curve: Curve): Uint8Array {
  const { library, module, session } = opened;
  const { privates, publics } = objectsOf(opened, label);
  if (privates.length > 0 && publics.length > 0) return publicKeyOf(opened, publics[0]!, curve);
  for (const leftover of [...privates, ...publics]) module.C_DestroyObject(session, leftover);
  const id = createHash('sha256').update(label).digest();
  const common = [
    { type: library.CKA_TOKEN, value: true },
    { type: library.CKA_LABEL, value: label },
    { type: library.CKA_ID, value: id },
  ];
  const mechanism = curve === 'secp256k1' ? library.CKM_EC_KEY_PAIR_GEN : CKM_EC_EDWARDS_KEY_PAIR_GEN;
  const { publicKey } = module.C_GenerateKeyPair(
    session,
    { mechanism },
    [
      ...common,
      { type: library.CKA_VERIFY, value: true },
      { type: library.CKA_EC_PARAMS, value: curveParameters[curve] },
    ],
    [
      ...common,
      { type: library.CKA_PRIVATE, value: true },
      { type: library.CKA_SENSITIVE, value: true },
      { type: library.CKA_EXTRACTABLE, value: false },
      { type: library.CKA_SIGN, value: true },
    ],
  );
  return publicKeyOf(opened, publicKey, curve);
}

/** Compressed. CKA_EC_POINT is a DER octet string over the point: SEC 1 uncompressed, or RFC 8032's 32 bytes. */
function publicKeyOf({ library, module, session }: Opened, key: Handle, curve: Curve): Uint8Array {
  const [attribute] = module.C_GetAttributeValue(session, key, [{ type: library.CKA_EC_POINT }]);
  const der = attribute!.value as Buffer;
  if (curve === 'ed25519') return der.subarray(-32);
  const point = der.subarray(-65);
  if (point.length !== 65 || point[0] !== 4)
    throw new TokenError('HSM_FAILED', 'CKA_EC_POINT is not an uncompressed point');
  return Buffer.concat([Uint8Array.of(2 + (point[64]! & 1)), point.subarray(1, 33)]);
}

function sign(opened: Opened, label: string, curve: Curve, message: Uint8Array): Uint8Array {
  const { library, module, session } = opened;
  const key = find(opened, library.CKO_PRIVATE_KEY, label)[0];
  if (key === undefined) throw new TokenError('HSM_TOKEN_ABSENT', 'the token has no such key');
  module.C_SignInit(session, { mechanism: curve === 'secp256k1' ? library.CKM_ECDSA : CKM_EDDSA }, key);
  return module.C_Sign(session, Buffer.from(message), Buffer.alloc(64));
}

function serve(opened: Opened, request: HsmRequest): FromChild['outcome'] {
  const { label } = request;
  switch (request.kind) {
    case 'make': {
      const publicKey = make(opened, label, request.curve);
      return { kind: 'made', publicKey, signature: sign(opened, label, request.curve, request.challenge) };
    }
    case 'sign':
      return { kind: 'signed', signature: sign(opened, label, request.curve, request.message) };
    case 'destroy': {
      const { privates, publics } = objectsOf(opened, label);
      for (const object of [...privates, ...publics]) opened.module.C_DestroyObject(opened.session, object);
      return { kind: 'destroyed' };
    }
  }
}

function failed(error: unknown): FromChild['outcome'] {
  const text = error instanceof Error ? error.message.split('\n')[0]! : String(error);
  if (error instanceof TokenError) return { kind: 'failed', fault: error.fault, message: text };
  const missing = (error as { code?: unknown }).code === 'MODULE_NOT_FOUND';
  if (missing) {
    return { kind: 'failed', fault: 'HSM_UNCONFIGURED', message: 'the package pkcs11js is not installed and built' };
  }
  return { kind: 'failed', fault: faults.get(text) ?? 'HSM_FAILED', message: text };
}

let place: Extract<ToChild, { kind: 'open' }> | undefined;
let opened: Opened | undefined;

function handle(message: ToChild): void {
  if (message.kind === 'open') {
    place = message;
    return;
  }
  const { id, request } = message;
  let outcome: FromChild['outcome'];
  try {
    opened ??= open(place!);
    outcome = serve(opened, request);
  } catch (error) {
    outcome = failed(error);
  }
  writeSync(answersFd, writeLine({ id, outcome }));
}

// stdin ends with the node.
createInterface({ input: process.stdin })
  .on('line', (line) => handle(readRequest(line)))
  .on('close', () => process.exit(0));
