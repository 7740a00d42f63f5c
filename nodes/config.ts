/**
 * The configuration of a node process. The command line reads it from the environment and the data directory; this module only
 * checks it, so that a process refuses a wrong one before it opens anything.
 */
import type { LinkTls } from '../core/actors/live/link-tls.ts';
import { equalBytes } from '../core/crypto/bytes.ts';
import { identityFromSeed } from '../core/crypto/identity.ts';
import type { Roster } from '../proto/roster.ts';
import type { SandboxKeys } from './dkg/party.ts';
import type { HsmConfig } from './hsm/protocol.ts';
import type { VendorConfig } from './vendor/http-vendor.ts';

export interface NodeConfig {
  /** 1..n. */
  readonly nodeId: number;
  /** Pinned; never learned from the coordinator. */
  readonly roster: Roster;
  /** Secret, this node's Ed25519 seed, 32 bytes; its public key stands in the roster. */
  readonly identitySeed: Uint8Array;
  /** Secret, shared by the members of the cluster. */
  readonly joinSecret: Uint8Array;
  /** wss://host:port of the coordinator, or ws:// where plain links may be. */
  readonly coordinatorUrl: string;
  /** Its certificate for links; undefined: they are plain. */
  readonly linkTls?: LinkTls | undefined;
  /** The directory of this node's store; made if it is not there. */
  readonly storeDir: string;
  /** Secret, 32 bytes: encrypts the store. Losing it loses the key shares. */
  readonly storageKey: Uint8Array;
  /**
   * Whether clients may supply dealers' shares of keys that are not wallets'. Off unless this node's own configuration says
   * so: a party that supplies all dealers knows the key.
   */
  readonly allowClientDealers: boolean;
  /** The ready-made keys of a sandbox; none in production. */
  readonly sandbox?: SandboxKeys | undefined;
  /** Its PKCS#11 token; none: keys of HSM_PKCS11 are refused. */
  readonly hsm?: HsmConfig | undefined;
  /** Its vendor; none: keys of MPC_VENDOR are refused. */
  readonly vendor?: VendorConfig | undefined;
  /** A level of pino: "debug", "info", "warn", "error", "silent". */
  readonly logLevel: string;
}

/** Throws an Error that names the field (never its bytes) when a configuration cannot work. */
export function checkNodeConfig(config: NodeConfig): void {
  const fault = (field: string, why: string) => new Error(`node configuration: ${field} ${why}`);
  const member = config.roster.nodes.find(({ id }) => id === config.nodeId);
  if (member === undefined) throw fault('nodeId', `${config.nodeId} is not in the roster`);
  if (config.identitySeed.length !== 32) throw fault('identitySeed', 'is not 32 bytes');
  if (!equalBytes(identityFromSeed(config.identitySeed).publicKey, member.publicKey)) {
    throw fault('identitySeed', `is not the one of node ${config.nodeId} in the roster`);
  }
  if (config.joinSecret.length === 0) throw fault('joinSecret', 'is empty');
  if (config.storageKey.length !== 32) throw fault('storageKey', 'is not 32 bytes');
  if (config.storeDir === '') throw fault('storeDir', 'is empty');
  if (config.sandbox !== undefined && config.sandbox.seed.length !== 32) throw fault('sandbox.seed', 'is not 32 bytes');
}
