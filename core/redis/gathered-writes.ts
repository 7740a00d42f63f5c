/**
 * Commands of one turn of the event loop leave in one write: what is written to the socket is held back until the event loop has
 * handled its sockets. The client's own pipelines would do so too, but a command in one costs more CPU, since each
 * pipeline is a new object with every script of the connection as a method.
 */
import type { Redis } from 'ioredis';

export function gatherWrites(redis: Redis): void {
  const send = redis.sendCommand.bind(redis);
  let isGathering = false;
  redis.sendCommand = (command, stream) => {
    if (!isGathering && redis.status === 'ready') {
      isGathering = true;
      // The connection may be another one by then.
      const socket = redis.stream;
      socket.cork();
      setImmediate(() => {
        isGathering = false;
        socket.uncork();
      });
    }
    return send(command, stream);
  };
}
