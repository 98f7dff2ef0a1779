// SPDX-License-Identifier: Apache-2.0
// Loads an HPROF file with VisualVM's heap walker library, and prints what it makes of it, a record a line, tab-separated:
//
//     java -cp org-graalvm-visualvm-lib-jfluid-heap.jar HeapWalker.java FILE NODES
//
//     total   BYTES OBJECTS
//     class   COUNT BYTES NAME               of classes with instances
//     root    KIND COUNT
//     frame   THREAD FUNCTION HOLDER         the frame of a root, and the class of what it holds
//     object  ID SHALLOW RETAINED CLASS      of the NODES that retain most
import java.io.File;
import java.util.Map;
import java.util.TreeMap;

import org.graalvm.visualvm.lib.jfluid.heap.GCRoot;
import org.graalvm.visualvm.lib.jfluid.heap.Heap;
import org.graalvm.visualvm.lib.jfluid.heap.HeapFactory;
import org.graalvm.visualvm.lib.jfluid.heap.Instance;
import org.graalvm.visualvm.lib.jfluid.heap.JavaClass;
import org.graalvm.visualvm.lib.jfluid.heap.JavaFrameGCRoot;

class HeapWalker {
	static void put(Object... words) {
		StringBuilder line = new StringBuilder();
		for (Object word : words)
			line.append(line.length() == 0 ? "" : "\t").append(word);
		System.out.println(line);
	}

	static void putRoots(Heap heap) {
		Map<String, Integer> kinds = new TreeMap<>();
		for (Object item : heap.getGCRoots()) {
			GCRoot root = (GCRoot) item;
			kinds.merge(root.getKind(), 1, Integer::sum);
			if (!(root instanceof JavaFrameGCRoot))
				continue;
			JavaFrameGCRoot frame = (JavaFrameGCRoot) root;
			put("frame", frame.getThreadGCRoot().getInstance().getJavaClass().getName(),
				frame.getThreadGCRoot().getStackTrace()[frame.getFrameNumber()],
				frame.getInstance().getJavaClass().getName());
		}
		kinds.forEach((kind, count) -> put("root", kind, count));
	}

	public static void main(String[] arguments) throws Exception {
		Heap heap = HeapFactory.createHeap(new File(arguments[0]));
		put("total", heap.getSummary().getTotalLiveBytes(), heap.getSummary().getTotalLiveInstances());
		for (Object item : heap.getAllClasses()) {
			JavaClass one = (JavaClass) item;
			if (one.getInstancesCount() > 0)
				put("class", one.getInstancesCount(), one.getAllInstancesSize(), one.getName());
		}
		putRoots(heap);
		for (Object item : heap.getBiggestObjectsByRetainedSize(Integer.parseInt(arguments[1]))) {
			Instance one = (Instance) item;
			put("object", one.getInstanceId(), one.getSize(), one.getRetainedSize(), one.getJavaClass().getName());
		}
	}
}
