/** The Redis client in a module of its own, so that commands load it only when they need it. */
export { connectRedis } from '../../core/redis/connect.ts';
