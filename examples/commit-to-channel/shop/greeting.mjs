export const greeting = () => 'Hello from version 1'
