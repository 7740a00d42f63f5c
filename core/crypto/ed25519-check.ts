/** The check of an Ed25519 signature (RFC 8032) by a key that is not an identity. */
import { Variant } from './backend.ts';
import { ed25519Identities } from './identity-ed25519.ts';

/** The check in use. */
export const ed25519Check = new Variant(ed25519Identities.verify);
