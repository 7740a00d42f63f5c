/**
 * Routes are validated by `gateway/api/`, not by Fastify: no route gives it a schema to compile. With this setting it does not load its
 * compilers (ajv, fast-json-stringify) at every start; the build omits them.
 */
import type { FastifyServerOptions } from 'fastify';

function refuse(): never {
  throw new Error('a route has a schema of Fastify: schemas of routes belong to gateway/api/');
}

export const noSchemas: NonNullable<FastifyServerOptions['schemaController']> = {
  compilersFactory: { buildValidator: refuse, buildSerializer: refuse },
};
