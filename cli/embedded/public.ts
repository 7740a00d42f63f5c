/** `signmesh up --embedded`, for the command line. */
export { upEmbedded } from './embedded.ts';
export { standInLine } from './requested.ts';
