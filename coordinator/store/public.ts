/** The export of the session store: the layout of its records. */
export { changeOf, endingOf, openingOf } from './layout.ts';
