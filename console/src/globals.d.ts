/** What the bundler adds. */

declare module '*.css'
