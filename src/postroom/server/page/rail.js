/** The ladder as a small rail that fills in as evidence comes. A side exit leaves it downwards. What it shows is also said in words beside it. */

import { s } from "./element.js";
import { RUNGS, height, isExit } from "./ladder.js";

/** @typedef {import("./wire.js").Delivery} Delivery */

const GAP = 22;
const EDGE = 6;
const MIDDLE = 6;

/** @param {number} rung */
const x = (rung) => EDGE + rung * GAP;

/**
 * @param {Delivery[]} deliveries of one message; of several recipients each rung is as strong as many are there
 */
export function rail(deliveries) {
  const count = Math.max(1, deliveries.length);
  const lost = deliveries.filter((one) => isExit(one.state));
  const isLost = lost.length > 0 && lost.length === deliveries.length;
  const top = deliveries.length ? Math.max(...deliveries.map(height)) : 0;
  const share = RUNGS.map((_, rung) => deliveries.filter((one) => height(one) >= rung).length / count);
  const last = isLost ? Math.min(top, 2) : 3;
  const marks = [];
  for (let rung = 1; rung <= last; rung += 1) {
    const isOn = rung <= top;
    marks.push(
      s(`line.track${isOn ? ".on" : ""}`, { x1: x(rung - 1) + 4, x2: x(rung) - 4, y1: MIDDLE, y2: MIDDLE, "stroke-opacity": isOn ? strength(share[rung]) : 1 }),
    );
  }
  for (let rung = 0; rung <= last; rung += 1) {
    const isOn = rung <= top;
    marks.push(
      s(`circle.rung${isOn ? ".on" : ""}`, { cx: x(rung), cy: MIDDLE, r: 3.5, "fill-opacity": isOn ? strength(share[rung]) : 0 }),
    );
  }
  if (lost.length) marks.push(exit(isLost ? last : top, lost[0]?.state === "withdrawn"));
  return s("svg.rail", { viewBox: "0 0 90 16", width: 90, height: 16, "aria-hidden": "true" }, marks);
}

/** @param {number|undefined} share */
const strength = (share) => (share === undefined || share >= 1 ? 1 : 0.25 + share * 0.5);

/**
 * @param {number} rung where the rail was left
 * @param {boolean} isMild
 */
function exit(rung, isMild) {
  const from = x(rung) + 4;
  const end = from + GAP - 6;
  return s(
    `g.exit${isMild ? ".mild" : ""}`,
    null,
    s("path", { d: `M${from} ${MIDDLE}C${from + 7} ${MIDDLE} ${end - 9} 11 ${end - 3} 11` }),
    s("path.cross", { d: `M${end - 2} 8.2l5.6 5.6m0 -5.6l-5.6 5.6` }),
  );
}
