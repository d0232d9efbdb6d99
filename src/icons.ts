import { LabIcon } from '@jupyterlab/ui-components';

/** A heart with a heartbeat line. */
export const doctorIcon = new LabIcon({
  name: 'kerneldoctor:heartbeat',
  svgstr: `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24">
  <g fill="none" stroke-width="2" stroke-linecap="round" stroke-linejoin="round">
    <path class="jp-icon3" stroke="#616161" d="M3.5 9.5c0-3 2.2-5 4.7-5 1.7 0 3 .9 3.8 2.2.8-1.3 2.1-2.2 3.8-2.2 2.5 0 4.7 2 4.7 5"/>
    <path class="jp-icon3" stroke="#616161" d="M6 15.5c1.7 2 3.8 3.7 6 5 2.2-1.3 4.3-3 6-5"/>
    <path class="jp-icon3" stroke="#616161" d="M2.5 12.5h5l1.8-3.2 3.2 6 1.8-2.8h7.2"/>
  </g>
</svg>`
});
