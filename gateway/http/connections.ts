/**
 * Bounds the connections of the HTTP door. At the bound a new connection takes the place of the one that has had no whole
 * request under way for longest; where all have one, the new one is closed. So neither many idle connections nor
 * requests that trickle in keep a health probe out.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';

export const connectionsDefaultMax = 10_000;

export function boundConnections(server: Server, connectionsMax: number): void {
  /** Requests under way, by connection. */
  const open = new Map<Socket, number>();
  /** Connections without one, the longest idle first. */
  const idle = new Set<Socket>();
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
    socket.once('close', () => {
      open.delete(socket);
      idle.delete(socket);
    });
  });
  // The headers of a request are complete.
  server.on('request', ({ socket }, response) => {
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
