/** Plug-ins of Deck, as the operations below `/plugins/deck` see them. */

/** An entry of the manifest. Deck then loads the asset `index.js` of this version. */
export interface DeckPlugin {
  readonly id: string
  readonly name: string
  readonly version: string
}

export interface DeckPluginAsset {
  readonly bytes: Buffer
  /** Media type. */
  readonly type: string
}

export interface DeckPlugins {
  /** @throws {GatewayError} PLUGINS_UNAVAILABLE before the lists of plug-ins have been read once */
  manifest(): readonly DeckPlugin[]
  /**
   * @param name A file name, without folders.
   * @returns undefined where there is no such plug-in, version or file
   * @throws {GatewayError} PLUGINS_UNAVAILABLE
   */
  asset(id: string, version: string, name: string): Promise<DeckPluginAsset | undefined>
}
