/**
 * Bounds the connections of the HTTP server. At the bound a new connection replaces the one that has been without a complete
 * request for longest; if all have one, the new connection is closed. So neither many idle connections nor slow requests can
 * block a health probe.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';

export const connectionsDefaultMax = 10_000;

/**
 * New connections that may wait until this process accepts them (the system's own bound, `somaxconn`, applies). Beyond it the system drops
 * their first packets, which clients send again after 1, 3 and 7 s: with Node's 511 a process that is late for some tenths of a second
 * would keep clients waiting for seconds without knowing of them.
 */
export const listenBacklog = 4_096;

export function boundConnections(server: Server, connectionsMax: number): void {
  /** Requests under way, by connection. */
  const open = new Map<Socket, number>();
  /** Connections without one, the longest idle first. */
  const idle = new Set<Socket>();
  /** With TLS a request comes over another object than the connection that was accepted: both have one remote end. */
  const accepted = new Map<string, Socket>();
  const below = new WeakMap<Socket, Socket>();
  server.on('secureConnection', (secure: TLSSocket) => {
    const socket = accepted.get(remoteOf(secure));
    if (socket !== undefined) below.set(secure, socket);
  });
  server.on('connection', (socket: Socket) => {
    if (open.size >= connectionsMax) {
      const [longestIdle] = idle;
      (longestIdle ?? socket).destroy();
      if (longestIdle === undefined) return;
      open.delete(longestIdle);
      idle.delete(longestIdle);
    }
    open.set(socket, 0);
    idle.add(socket);
    const remote = remoteOf(socket);
    accepted.set(remote, socket);
    socket.once('close', () => {
      open.delete(socket);
      idle.delete(socket);
      if (accepted.get(remote) === socket) accepted.delete(remote);
    });
  });
  // The headers of a request are complete.
  server.on('request', ({ socket: above }, response) => {
    const socket = below.get(above) ?? above;
    const underWay = open.get(socket);
    if (underWay === undefined) return;
    open.set(socket, underWay + 1);
    idle.delete(socket);
    response.once('close', () => {
      const left = (open.get(socket) ?? 0) - 1;
      if (left < 0) return;
      open.set(socket, left);
      if (left === 0) idle.add(socket);
    });
  });
}

function remoteOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress}:${remotePort}`;
}
