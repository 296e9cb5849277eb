// `make pictures`: the pictures of the documentation, each taken from a real run.
import { savePicture } from "./saved_picture.ts";
import { drawTrace } from "./trace_picture.ts";

await savePicture("trace.svg", await drawTrace());
