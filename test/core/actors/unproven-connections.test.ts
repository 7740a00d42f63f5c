/** Who gives way at the bound of connections without a proof. */
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { UnprovenConnections } from '../../../core/actors/live/unproven-connections.ts';

class FakeSocket extends EventEmitter {
  readonly #destroyed: string[];
  constructor(
    readonly remoteAddress: string,
    readonly remotePort: number,
    destroyed: string[],
  ) {
    super();
    this.#destroyed = destroyed;
  }
  destroy(): void {
    this.#destroyed.push(`${this.remoteAddress}:${this.remotePort}`);
    this.emit('close');
  }
}

function connections(max: number) {
  const destroyed: string[] = [];
  const unproven = new UnprovenConnections(max);
  const connect = (address: string, port: number) => {
    const socket = new FakeSocket(address, port, destroyed) as unknown as Socket;
    unproven.add(socket);
    return socket;
  };
  return { destroyed, unproven, connect };
}

describe('connections without a proof', () => {
  it('of the address that has the most give way, the oldest first', () => {
    const { destroyed, connect } = connections(3);
    connect('honest', 1);
    connect('flood', 1);
    connect('flood', 2);
    connect('flood', 3);
    connect('honest', 2);
    connect('flood', 4);
    expect(destroyed).toEqual(['flood:1', 'flood:2', 'honest:1']);
  });

  it('count no longer once they have proven themselves, or closed', () => {
    const { destroyed, unproven, connect } = connections(2);
    unproven.proven(connect('a', 1));
    connect('a', 2).emit('close');
    connect('a', 3);
    connect('a', 4);
    expect(destroyed).toEqual([]);
    unproven.destroy();
    expect(destroyed).toEqual(['a:3', 'a:4']);
  });
});
