/** Where the focus goes when its element leaves the page. */

/** To the control after it, such as the button that adds a record. */
export function focusBeside(leaving: HTMLElement): void {
  const all = [...document.querySelectorAll<HTMLElement>('button, input, select, textarea, a[href]')]
  const after = all.slice(all.indexOf(leaving) + 1)
  requestAnimationFrame(() => {
    if (!leaving.isConnected) after.find((element) => element.isConnected && element.tabIndex >= 0)?.focus()
  })
}
