/** Certificates for tests: an authority, those that it signs, and those that it should not have signed. */

import {
  issue,
  type KeyAndCertificate,
  type Leaf,
  makeAuthority,
  type Validity,
} from '../../cli/cluster-files/x509.ts';
import type { LinkTls } from '../../core/actors/live/link-tls.ts';

const hourMs = 3_600_000;

/** Hours from now; from an hour ago until tomorrow by default. */
export function validity(fromHours = -1, toHours = 24): Validity {
  const atMs = Math.floor(Date.now() / 1000) * 1000;
  return { notBefore: new Date(atMs + fromHours * hourMs), notAfter: new Date(atMs + toHours * hourMs) };
}

export class TestAuthority {
  readonly #pair: KeyAndCertificate;

  constructor(title = 'test authority') {
    this.#pair = makeAuthority(title, validity());
  }

  get ca(): string {
    return this.#pair.cert;
  }

  issue(leaf: Partial<Leaf>, when = validity()): LinkTls {
    const pair = issue(this.#pair, { title: 'test', usage: ['client'], ...leaf }, when);
    return { ca: this.ca, ...pair };
  }
}
