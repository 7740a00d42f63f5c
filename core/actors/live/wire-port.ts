/**
 * The codec port of the links, so that the kernel does not depend on messages. The functions of the wire module fit as they
 * are. Decoders throw on anything malformed, and only then.
 */
import type { Envelope } from '../contract.ts';

export interface FrameCodec<M> {
  /** One frame behind its length: frames can be laid one after the other. */
  encodeFrame(envelope: Envelope<M>): Uint8Array;
  decodeFrames(bytes: Uint8Array): Envelope<M>[];
}

export interface HandshakeCodec {
  encodeHandshake(step: WireHandshakeStep): Uint8Array;
  decodeHandshake(bytes: Uint8Array): WireHandshakeStep;
}

export interface WireCodec<M> extends FrameCodec<M>, HandshakeCodec {}

/** The numbers of the wire's Role. */
export const roleNode = 1;
export const roleGateway = 2;

export interface Challenge {
  protocolVersions: number[];
  clusterId: string;
  /** 32 bytes. */
  nonce: Uint8Array;
  coordinatorBoot: string;
}

export interface Hello {
  protocolVersion: number;
  clusterId: string;
  role: number;
  /** 1..n for a node, 0 otherwise. */
  nodeId: number;
  boot: string;
  /** Ed25519, 32 bytes. */
  publicKey: Uint8Array;
  /** 32 bytes. */
  nonce: Uint8Array;
  /** HMAC-SHA256, 32 bytes. */
  joinMac: Uint8Array;
  /** Ed25519, 64 bytes. */
  signature: Uint8Array;
}

export interface Welcome {
  signature: Uint8Array;
  joinMac: Uint8Array;
}

export interface RefusedHandshake {
  code: string;
  message: string;
}

export type WireHandshakeStep =
  | { case: 'challenge'; value: Challenge }
  | { case: 'hello'; value: Hello }
  | { case: 'welcome'; value: Welcome }
  | { case: 'refused'; value: RefusedHandshake };
