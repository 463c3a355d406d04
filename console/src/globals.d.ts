/** What the bundler adds. */

declare module '*.css'

/** Address of the layout worker below the console; its name contains a hash. */
declare const LAYOUT_WORKER: string
