import { readFileSync } from 'fs';
import { expect, IJupyterLabPageFixture } from '@jupyterlab/galata';
import { Locator } from '@playwright/test';

/** Expects that one does not cover the other. */
export async function expectApart(one: Locator, other: Locator): Promise<void> {
  const [a, b] = [(await one.boundingBox())!, (await other.boundingBox())!];
  const isApart =
    a.x + a.width <= b.x ||
    b.x + b.width <= a.x ||
    a.y + a.height <= b.y ||
    b.y + b.height <= a.y;
  expect(isApart, JSON.stringify([a, b])).toBe(true);
}

/** Expects that axe finds nothing serious in the panel and in the marks of the notebook, in both themes. */
export async function expectAccessible(
  page: IJupyterLabPageFixture
): Promise<void> {
  await page.evaluate(readFileSync(require.resolve('axe-core'), 'utf-8'));
  // JupyterLab's body has no height and hides what overflows: axe takes all text in it for hidden, and sees no colour.
  await page.addStyleTag({ content: 'body { min-height: 100vh; }' });
  for (const setTheme of [
    () => page.theme.setDarkTheme(),
    () => page.theme.setLightTheme()
  ]) {
    await setTheme();
    const { passes, violations } = await page.evaluate(() =>
      (window as unknown as { axe: typeof import('axe-core') }).axe.run({
        include: [
          ['#kerneldoctor-panel'],
          ['.jp-KernelDoctor-culpritLine'],
          ['.jp-KernelDoctor-status']
        ]
      })
    );
    expect(passes.map(rule => rule.id)).toContain('color-contrast');
    const serious = violations.filter(({ impact }) =>
      ['serious', 'critical'].includes(impact ?? '')
    );
    expect(
      serious.map(({ nodes }) =>
        nodes.map(node => [node.html, node.failureSummary])
      )
    ).toEqual([]);
  }
}
