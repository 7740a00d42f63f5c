/** The bound of the HTTP server's connections, without sockets: which connection makes place for a new one. */
import { EventEmitter } from 'node:events';
import type { Server } from 'node:http';
import { expect, it } from 'vitest';
import { boundConnections } from '../../gateway/http/connections.ts';

class FakeSocket extends EventEmitter {
  readonly remoteAddress = '127.0.0.1';
  readonly remotePort: number;
  isDestroyed = false;

  constructor(port: number) {
    super();
    this.remotePort = port;
  }

  destroy(): void {
    this.isDestroyed = true;
  }
}

function bounded(connectionsMax: number) {
  const server = new EventEmitter();
  boundConnections(server as Server, connectionsMax);
  let port = 1;
  return {
    connect: () => {
      const socket = new FakeSocket(port);
      port += 1;
      server.emit('connection', socket);
      return socket;
    },
    /** Its headers are complete. The result ends the response. */
    request: (socket: FakeSocket) => {
      const response = new EventEmitter();
      server.emit('request', { socket }, response);
      return () => response.emit('close');
    },
  };
}

it('connections that arrive together each replace another idle one', () => {
  const { connect } = bounded(2);
  const [first, second, third, fourth] = [connect(), connect(), connect(), connect()];
  expect([first, second, third, fourth].map(({ isDestroyed }) => isDestroyed)).toEqual([true, true, false, false]);
});

it('a connection is idle again after the response to its last request, and then the latest to go', () => {
  const { connect, request } = bounded(2);
  const [busy, idle] = [connect(), connect()];
  const ends = [request(busy), request(busy)];
  const third = connect();
  expect([busy.isDestroyed, idle.isDestroyed]).toEqual([false, true]);
  ends[0]!();
  const fourth = connect();
  expect([busy.isDestroyed, third.isDestroyed]).toEqual([false, true]);
  ends[1]!();
  const fifth = connect();
  expect([busy.isDestroyed, fourth.isDestroyed]).toEqual([false, true]);
  connect();
  expect([busy.isDestroyed, fifth.isDestroyed]).toEqual([true, false]);
});
