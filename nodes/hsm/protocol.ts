/** What a node process and the process of its PKCS#11 module say to each other, over Node's IPC channel. */
import type { HsmFault, HsmRequest } from '../records/hsm-port.ts';

/** Where the module is, and how to open its token. */
export interface HsmConfig {
  /** The shared library that the token's maker ships. */
  readonly module: string;
  /** CKA_LABEL of the token. */
  readonly token: string;
  /** Secret: the user's PIN. */
  readonly pin: string;
  /** The program of the process (child.ts, built). */
  readonly program: string;
  /** How long a request may take, the start of the process included. */
  readonly timeoutMs: number;
}

/** The first message to the process; requests follow. */
export type ToChild =
  | { readonly kind: 'open'; readonly module: string; readonly token: string; readonly pin: string }
  | { readonly kind: 'request'; readonly id: number; readonly request: HsmRequest };

export interface FromChild {
  readonly id: number;
  readonly outcome:
    | { readonly kind: 'made'; readonly publicKey: Uint8Array; readonly signature: Uint8Array }
    | { readonly kind: 'signed'; readonly signature: Uint8Array }
    | { readonly kind: 'destroyed' }
    | { readonly kind: 'failed'; readonly fault: HsmFault; readonly message: string };
}
